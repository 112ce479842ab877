/* Warnings of `linnet score`: of texts in different cases, which have 100 % errors, and of marks that are not words. */
#include "score_warnings.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/tool.h"

/* --- case --------------------------------------------------------------------------------------------------------- */

/* Adds the tokens of an utterance to another scorer. */
static enum linnet_status add_utterance(struct linnet_context *context, const struct linnet_scorer *scorer,
                                        size_t index, struct linnet_scorer *other) {
  const struct linnet_scored_utterance u = linnet_scorer_utterance(scorer, index);
  struct linnet_score_pair *pairs = malloc((u.num_pairs + 1) * sizeof *pairs);
  const char **tokens = malloc((2 * u.num_pairs + 1) * sizeof *tokens);
  size_t num_reference = 0, num_hypothesis = 0;
  enum linnet_status status = LINNET_OK;
  if (pairs && tokens) {
    const char **hypothesis = tokens + u.num_pairs;
    linnet_scorer_alignment(scorer, index, pairs);
    for (size_t i = 0; i < u.num_pairs; i++) {
      if (pairs[i].reference)
        tokens[num_reference++] = pairs[i].reference;
      if (pairs[i].hypothesis)
        hypothesis[num_hypothesis++] = pairs[i].hypothesis;
    }
    status = linnet_scorer_add(other, u.id, NULL, tokens, num_reference, hypothesis, num_hypothesis);
  } else {
    status = linnet_context_fail(context, LINNET_ERROR_MEMORY, "out of memory for the tokens of an utterance");
  }
  free(pairs);
  free(tokens);
  return status;
}

static bool is_ascii(const char *token) {
  while (*token && (unsigned char)*token < 0x80)
    token++;
  return !*token;
}

/* Whether two tokens may be equal but for case. The case of other letters than ASCII's is not looked at here. */
static bool may_be_equal(const struct linnet_score_pair *pair) {
  if (!pair->reference || !pair->hypothesis)
    return false;
  return strcasecmp(pair->reference, pair->hypothesis) == 0 ||
         (!is_ascii(pair->reference) && !is_ascii(pair->hypothesis));
}

/* Whether it is worth aligning again: a tenth of the substitutions may be equal but for case. A tenth is enough,
 * because the alignment cannot find the pairs that belong together if all tokens differ. */
static bool is_suspicious(const struct linnet_confusion *list, size_t count, size_t substitutions) {
  size_t cases = 0;
  for (size_t i = 0; i < count; i++)
    if (may_be_equal(&list[i].pair))
      cases += list[i].num_occurrences;
  return cases > 0 && 10 * cases >= substitutions;
}

static void judge(const char *name, const struct linnet_score *score, const struct linnet_score *folded) {
  const double percent = linnet_score_percent(score), without = linnet_score_percent(folded);
  if (3 * without < 2 * percent)
    tool_warn("%s: with --ignore-case the error rate would be %.2f instead of %.2f %%", name, without, percent);
}

/* Aligns all utterances again. */
static enum linnet_status compare_folded(struct linnet_context *context, const struct linnet_scorer *scorer,
                                         const char *name) {
  struct linnet_scorer *other = NULL;
  struct linnet_scorer_settings settings;
  linnet_scorer_settings_default(&settings);
  settings.fold_case = 1;
  enum linnet_status status = linnet_scorer_create(context, &settings, &other);
  for (size_t i = 0; i < linnet_scorer_num_utterances(scorer) && status == LINNET_OK; i++)
    status = add_utterance(context, scorer, i, other);
  if (status == LINNET_OK) {
    const struct linnet_score score = linnet_scorer_sum(scorer).score, folded = linnet_scorer_sum(other).score;
    judge(name, &score, &folded);
  }
  linnet_scorer_destroy(other);
  return status;
}

/* --- marks -------------------------------------------------------------------------------------------------------- */

static bool is_optional(const char *token) {
  const size_t length = strlen(token);
  return length > 2 && token[0] == '(' && token[length - 1] == ')';
}

/* Looks for "{ a / b }" and "(a)" among reference tokens that are not in hypotheses. */
static void check_marks(const char *name, const struct linnet_confusion *list, size_t count) {
  size_t opened = 0, divided = 0, closed = 0;
  const char *optional = NULL;
  for (size_t i = 0; i < count; i++) {
    const char *token = list[i].pair.reference ? list[i].pair.reference : "";
    opened += strcmp(token, "{") == 0;
    divided += strcmp(token, "/") == 0;
    closed += strcmp(token, "}") == 0;
    if (!optional && is_optional(token))
      optional = token;
  }
  if (opened > 0 && divided > 0 && closed > 0)
    tool_warn("%s: has alternatives { a / b }, whose tokens all count as words: choose one of them (docs/training.md, "
              "Scoring)",
              name);
  if (optional)
    tool_warn("%s: '%s' and other tokens in parentheses, which are optional in sclite, count as words: --ignore drops "
              "them",
              name, optional);
}

bool score_warnings_print(struct linnet_context *context, struct linnet_scorer *scorer, const char *reference,
                          const char *hypothesis) {
  const struct linnet_confusion *list;
  size_t count;
  enum linnet_status status = linnet_scorer_confusions(scorer, &list, &count);
  if (status == LINNET_OK && reference)
    check_marks(reference, list, count);
  if (status == LINNET_OK && is_suspicious(list, count, linnet_scorer_sum(scorer).score.num_substitutions))
    status = compare_folded(context, scorer, hypothesis);
  if (status != LINNET_OK)
    tool_fail_context(context);
  return status == LINNET_OK;
}
