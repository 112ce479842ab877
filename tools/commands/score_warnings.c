/* Warnings of `linnet score`: of texts in different cases, which have 100 % errors, and of marks that are not words. */
#include "score_warnings.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/tool.h"

/* --- case --------------------------------------------------------------------------------------------------------- */

/* The tokens of an utterance in lower case. */
struct lowered {
  struct linnet_score_pair *pairs;
  const char **reference, **hypothesis;
  size_t num_reference, num_hypothesis;
  char *text; /* of all tokens */
};

/* Appends a token, if it is not NULL, whose lower case is written to *text, which moves. */
static void append(const char **tokens, size_t *count, const char *token, char **text) {
  if (!token)
    return;
  tokens[(*count)++] = *text;
  for (; *token; token++)
    *(*text)++ = (char)(*token >= 'A' && *token <= 'Z' ? *token - 'A' + 'a' : *token);
  *(*text)++ = '\0';
}

/* False without memory; lowered_free in both cases. */
static bool lower(const struct linnet_scorer *scorer, size_t index, struct lowered *l) {
  const size_t count = linnet_scorer_utterance(scorer, index).num_pairs;
  size_t bytes = 1;
  *l = (struct lowered){.pairs = malloc((count + 1) * sizeof *l->pairs),
                        .reference = malloc((count + 1) * sizeof *l->reference),
                        .hypothesis = malloc((count + 1) * sizeof *l->hypothesis)};
  if (!l->pairs || !l->reference || !l->hypothesis)
    return false;
  linnet_scorer_alignment(scorer, index, l->pairs);
  for (size_t i = 0; i < count; i++) {
    bytes += l->pairs[i].reference ? strlen(l->pairs[i].reference) + 1 : 0;
    bytes += l->pairs[i].hypothesis ? strlen(l->pairs[i].hypothesis) + 1 : 0;
  }
  char *end = l->text = malloc(bytes);
  for (size_t i = 0; i < count && end; i++) {
    append(l->reference, &l->num_reference, l->pairs[i].reference, &end);
    append(l->hypothesis, &l->num_hypothesis, l->pairs[i].hypothesis, &end);
  }
  return l->text != NULL;
}

static void lowered_free(struct lowered *l) {
  free(l->pairs);
  free(l->reference);
  free(l->hypothesis);
  free(l->text);
}

/* Adds all utterances to another scorer. */
static enum linnet_status add_lowered(const struct linnet_scorer *scorer, struct linnet_scorer *other) {
  enum linnet_status status = LINNET_OK;
  for (size_t i = 0; i < linnet_scorer_num_utterances(scorer) && status == LINNET_OK; i++) {
    struct lowered l;
    status = lower(scorer, i, &l) ? linnet_scorer_add(other, linnet_scorer_utterance(scorer, i).id, NULL, l.reference,
                                                      l.num_reference, l.hypothesis, l.num_hypothesis)
                                  : LINNET_ERROR_MEMORY;
    lowered_free(&l);
  }
  return status;
}

/* Whether a tenth of the substitutions are equal in lower case. An insertion shifts the alignment of tokens that all
 * differ, so that it may be few of them. */
static bool is_suspicious(const struct linnet_confusion *list, size_t count, size_t substitutions) {
  size_t cases = 0;
  for (size_t i = 0; i < count; i++)
    if (list[i].pair.reference && list[i].pair.hypothesis &&
        strcasecmp(list[i].pair.reference, list[i].pair.hypothesis) == 0)
      cases += list[i].num_occurrences;
  return cases > 0 && 10 * cases >= substitutions;
}

static void judge(const char *name, const struct linnet_score *score, const struct linnet_score *lowered) {
  const double percent = linnet_score_percent(score), without = linnet_score_percent(lowered);
  if (3 * without < 2 * percent)
    tool_warn(
        "%s: without upper and lower case the error rate would be %.2f instead of %.2f %%: if case does not "
        "matter, write it and the references in lower case, with awk '{id = $1; $1 = \"\"; print id tolower($0)}'",
        name, without, percent);
}

/* Aligns all utterances again. */
static enum linnet_status compare_lowered(struct linnet_context *context, const struct linnet_scorer *scorer,
                                          const char *name) {
  struct linnet_scorer *other = NULL;
  enum linnet_status status = linnet_scorer_create(context, NULL, &other);
  if (status == LINNET_OK)
    status = add_lowered(scorer, other);
  if (status == LINNET_OK) {
    const struct linnet_score score = linnet_scorer_sum(scorer).score, lowered = linnet_scorer_sum(other).score;
    judge(name, &score, &lowered);
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
    status = compare_lowered(context, scorer, hypothesis);
  if (status == LINNET_ERROR_MEMORY)
    tool_fail("out of memory for scoring without case");
  else if (status != LINNET_OK)
    tool_fail_context(context);
  return status == LINNET_OK;
}
