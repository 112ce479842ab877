/* Scoring of a corpus: utterances are aligned when they are added; tables are computed from the stored alignments. */
#include "decoder/scoring/scorer.h"

#include <string.h>

#include "base/c_locale.h"
#include "base/settings.h"
#include "decoder/base/characters.h"
#include "decoder/base/text_file.h"

enum { MAX_MAP_BYTES = 1 << 24 };

void linnet_score_line(const struct linnet_score *score, const char *name, char *line, size_t size) {
  size_t errors = score->num_insertions + score->num_deletions + score->num_substitutions;
  char percent[32] = "n/a";
  if (score->num_reference > 0)
    linnet_format(percent, sizeof percent, "%.2f", linnet_score_percent(score));
  linnet_format(line, size, "%%%s %s [ %zu / %zu, %zu ins, %zu del, %zu sub ]", name, percent, errors,
                score->num_reference, score->num_insertions, score->num_deletions, score->num_substitutions);
}

void(linnet_scorer_settings_default)(struct linnet_scorer_settings *settings, size_t size) {
  const struct linnet_scorer_settings defaults = {.size = sizeof(struct linnet_scorer_settings)};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

enum linnet_status linnet_scorer_create(struct linnet_context *context, const struct linnet_scorer_settings *settings,
                                        struct linnet_scorer **scorer) {
  if (scorer)
    *scorer = NULL;
  if (!context || !scorer)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_scorer_create: an argument is NULL");
  struct linnet_scorer_settings own;
  LINNET_TRY(LINNET_READ_SETTINGS(context, scorer, settings, &own));
  struct linnet_scorer *made = linnet_calloc(context, 1, sizeof *made);
  if (!made)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a scorer");
  made->context = context;
  made->vocabulary.context = context;
  made->ids.context = context;
  made->speakers.context = context;
  made->map_from.context = context;
  made->ignored.context = context;
  made->settings = own;
  *scorer = made;
  return LINNET_OK;
}

void linnet_scorer_destroy(struct linnet_scorer *scorer) {
  if (!scorer)
    return;
  struct linnet_context *context = scorer->context;
  linnet_names_clear(&scorer->vocabulary);
  linnet_names_clear(&scorer->ids);
  linnet_names_clear(&scorer->speakers);
  linnet_names_clear(&scorer->map_from);
  linnet_names_clear(&scorer->ignored);
  linnet_free(context, scorer->map_to);
  linnet_free(context, scorer->folded);
  linnet_free(context, scorer->utterances);
  linnet_free(context, scorer->sums);
  linnet_free(context, scorer->tokens);
  linnet_free(context, scorer->edits);
  linnet_free(context, scorer->confusions);
  linnet_free(context, scorer);
}

/* --- tokens ----------------------------------------------------------------------------------------------------- */

static enum linnet_status check_open(const struct linnet_scorer *scorer, const char *function) {
  if (scorer->ids.count == 0)
    return LINNET_OK;
  return linnet_fail(scorer->context, LINNET_ERROR_STATE, "%s: utterances were added already", function);
}

/* Replaces a token of *length bytes by its lower case, in the scorer's buffer, if the settings say so. */
static enum linnet_status fold(struct linnet_scorer *scorer, const char **token, size_t *length) {
  if (!scorer->settings.fold_case)
    return LINNET_OK;
  char *folded = linnet_grow(scorer->context, scorer->folded, &scorer->folded_capacity, 4 * *length + 1, 1);
  if (!folded)
    return linnet_fail(scorer->context, LINNET_ERROR_MEMORY, "out of memory for a token");
  scorer->folded = folded;
  size_t made = 0, bytes;
  for (size_t at = 0; at < *length; at += bytes) {
    const uint32_t code = linnet_utf8_decode(*token + at, &bytes);
    if (code == linnet_utf8_lower(code)) {
      memcpy(folded + made, *token + at, bytes);
      made += bytes;
    } else {
      made += linnet_utf8_encode(linnet_utf8_lower(code), folded + made);
    }
  }
  folded[made] = '\0';
  *token = folded;
  *length = made;
  return LINNET_OK;
}

/* Adds a token of `length` bytes in the form in which tokens are compared. */
static enum linnet_status add_folded(struct linnet_scorer *scorer, struct linnet_names *names, const char *token,
                                     size_t length, size_t *index, bool *fresh) {
  LINNET_TRY(fold(scorer, &token, &length));
  return linnet_names_add(names, token, length, index, fresh);
}

static size_t without_stress(const struct linnet_scorer *scorer, const char *token, size_t length) {
  return scorer->settings.strip_stress ? linnet_strip_stress(token, length) : length;
}

enum linnet_status linnet_scorer_map(struct linnet_scorer *scorer, const char *from, const char *to) {
  if (!scorer || !from)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(check_open(scorer, "linnet_scorer_map"));
  size_t target = LINNET_NOT_FOUND, index;
  if (to)
    LINNET_TRY(add_folded(scorer, &scorer->vocabulary, to, without_stress(scorer, to, strlen(to)), &target, NULL));
  size_t *grown =
      linnet_grow(scorer->context, scorer->map_to, &scorer->map_capacity, scorer->map_from.count + 1, sizeof *grown);
  if (!grown)
    return linnet_fail(scorer->context, LINNET_ERROR_MEMORY, "out of memory for a map of tokens");
  scorer->map_to = grown;
  bool fresh;
  LINNET_TRY(add_folded(scorer, &scorer->map_from, from, strlen(from), &index, &fresh));
  if (!fresh && scorer->map_to[index] != target)
    return linnet_fail(scorer->context, LINNET_ERROR_ARGUMENT, "token '%.100s' is mapped to two different tokens",
                       from);
  scorer->map_to[index] = target;
  return LINNET_OK;
}

enum linnet_status linnet_scorer_ignore(struct linnet_scorer *scorer, const char *token) {
  if (!scorer || !token)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(check_open(scorer, "linnet_scorer_ignore"));
  size_t index;
  return add_folded(scorer, &scorer->ignored, token, strlen(token), &index, NULL);
}

static enum linnet_status load_map_line(struct linnet_scorer *scorer, struct linnet_text *text) {
  const char *from = linnet_text_token(text);
  if (strncmp(from, ";;;", 3) == 0 || strcmp(from, "#") == 0)
    return LINNET_OK;
  const char *to = linnet_text_token(text);
  if (linnet_text_token(text))
    return linnet_fail(scorer->context, LINNET_ERROR_FORMAT,
                       "%s:%zu: the line has more than a token and its replacement", text->name, text->line);
  enum linnet_status status = linnet_scorer_map(scorer, from, to);
  if (status == LINNET_ERROR_ARGUMENT)
    return linnet_fail(scorer->context, LINNET_ERROR_FORMAT,
                       "%s:%zu: token '%.100s' is mapped to two different tokens: remove one of the lines", text->name,
                       text->line, from);
  return status;
}

enum linnet_status linnet_scorer_load_map(struct linnet_scorer *scorer, const char *path) {
  if (!scorer || !path)
    return LINNET_ERROR_ARGUMENT;
  struct linnet_text text;
  enum linnet_status status = linnet_text_open(scorer->context, path, MAX_MAP_BYTES, &text);
  while (status == LINNET_OK && linnet_text_next_line(&text))
    status = load_map_line(scorer, &text);
  linnet_text_close(&text);
  return status;
}

enum linnet_status linnet_scorer_normalise(struct linnet_scorer *scorer, const char *token, size_t *index) {
  size_t length = strlen(token);
  LINNET_TRY(fold(scorer, &token, &length));
  size_t mapped = linnet_names_find(&scorer->map_from, token, length);
  if (mapped == LINNET_NOT_FOUND) {
    length = without_stress(scorer, token, length);
    mapped = linnet_names_find(&scorer->map_from, token, length);
  }
  if (mapped != LINNET_NOT_FOUND) {
    *index = scorer->map_to[mapped];
    if (*index == LINNET_NOT_FOUND)
      return LINNET_OK;
    token = linnet_names_text(&scorer->vocabulary, *index);
    length = strlen(token);
  }
  *index = LINNET_NOT_FOUND;
  if (linnet_names_find(&scorer->ignored, token, length) != LINNET_NOT_FOUND)
    return LINNET_OK;
  return linnet_names_add(&scorer->vocabulary, token, length, index, NULL);
}

/* Appends normalised tokens after the first `used` ones; *kept is the number of tokens that were not dropped. */
static enum linnet_status append_tokens(struct linnet_scorer *scorer, size_t used, const char *const *tokens,
                                        size_t count, size_t *kept) {
  *kept = 0;
  for (size_t i = 0; i < count; i++) {
    size_t index;
    LINNET_TRY(linnet_scorer_normalise(scorer, tokens[i], &index));
    if (index == LINNET_NOT_FOUND)
      continue;
    int *grown = linnet_grow(scorer->context, scorer->tokens, &scorer->token_capacity, used + *kept + 1, sizeof *grown);
    if (!grown)
      return linnet_fail(scorer->context, LINNET_ERROR_MEMORY, "out of memory after %zu tokens", used + *kept);
    scorer->tokens = grown;
    scorer->tokens[used + (*kept)++] = (int)index;
  }
  return LINNET_OK;
}

/* --- utterances ------------------------------------------------------------------------------------------------- */

/* Aligns the tokens of the utterance; appends the alignment to the edits. */
static enum linnet_status align_utterance(struct linnet_scorer *scorer, struct linnet_scored *u) {
  size_t needed = u->edit + u->num_reference + u->num_hypothesis;
  uint8_t *grown = linnet_grow(scorer->context, scorer->edits, &scorer->edit_capacity, needed, sizeof *grown);
  if (!grown)
    return linnet_fail(scorer->context, LINNET_ERROR_MEMORY, "out of memory after %zu aligned tokens", u->edit);
  scorer->edits = grown;
  const int *reference = scorer->tokens ? scorer->tokens + u->token : NULL;
  const int *hypothesis = scorer->tokens ? reference + u->num_reference : NULL;
  LINNET_TRY(linnet_align(scorer->context, reference, u->num_reference, hypothesis, u->num_hypothesis,
                          scorer->edits + u->edit, &u->edit_count));
  linnet_count_edits(scorer->edits + u->edit, u->edit_count, &u->score);
  return LINNET_OK;
}

static enum linnet_status reserve_utterance(struct linnet_scorer *scorer) {
  struct linnet_scored *utterances = linnet_grow(scorer->context, scorer->utterances, &scorer->utterance_capacity,
                                                 scorer->ids.count + 1, sizeof *utterances);
  if (utterances)
    scorer->utterances = utterances;
  struct linnet_score_sum *sums =
      linnet_grow(scorer->context, scorer->sums, &scorer->sum_capacity, scorer->speakers.count + 1, sizeof *sums);
  if (sums)
    scorer->sums = sums;
  if (!utterances || !sums)
    return linnet_fail(scorer->context, LINNET_ERROR_MEMORY, "out of memory after %zu utterances", scorer->ids.count);
  return LINNET_OK;
}

static void add_to_sum(struct linnet_score_sum *sum, const struct linnet_scored *u) {
  const struct linnet_score *s = &u->score;
  sum->score.num_reference += s->num_reference;
  sum->score.num_substitutions += s->num_substitutions;
  sum->score.num_insertions += s->num_insertions;
  sum->score.num_deletions += s->num_deletions;
  sum->num_utterances++;
  sum->num_wrong += s->num_substitutions + s->num_insertions + s->num_deletions > 0;
  sum->num_missing += u->missing;
}

/* Adds the names of the utterance and its speaker. After this nothing can fail. */
static enum linnet_status commit(struct linnet_scorer *scorer, const char *id, const char *speaker,
                                 struct linnet_scored *u) {
  LINNET_TRY(reserve_utterance(scorer));
  size_t index;
  bool fresh = false;
  u->speaker = LINNET_NOT_FOUND;
  if (speaker)
    LINNET_TRY(linnet_names_add(&scorer->speakers, speaker, strlen(speaker), &u->speaker, &fresh));
  enum linnet_status status = linnet_names_add(&scorer->ids, id, strlen(id), &index, NULL);
  if (status != LINNET_OK) {
    if (fresh)
      linnet_names_pop(&scorer->speakers);
    return status;
  }
  scorer->utterances[index] = *u;
  scorer->token_count = u->token + u->num_reference + u->num_hypothesis;
  scorer->edit_count = u->edit + u->edit_count;
  add_to_sum(&scorer->total, u);
  if (fresh)
    scorer->sums[u->speaker] = (struct linnet_score_sum){.name = linnet_names_text(&scorer->speakers, u->speaker)};
  if (speaker)
    add_to_sum(&scorer->sums[u->speaker], u);
  return LINNET_OK;
}

static enum linnet_status add_utterance(struct linnet_scorer *scorer, const char *id, const char *speaker,
                                        const char *const *reference, size_t num_reference,
                                        const char *const *hypothesis, size_t num_hypothesis, bool missing) {
  if (!scorer)
    return LINNET_ERROR_ARGUMENT;
  if (!id || (!reference && num_reference > 0) || (!hypothesis && num_hypothesis > 0))
    return linnet_fail(scorer->context, LINNET_ERROR_ARGUMENT, "linnet_scorer_add: an argument is NULL");
  if (linnet_names_find(&scorer->ids, id, strlen(id)) != LINNET_NOT_FOUND)
    return linnet_fail(scorer->context, LINNET_ERROR_ARGUMENT, "utterance '%.100s' was added before", id);
  struct linnet_scored u = {.token = scorer->token_count, .edit = scorer->edit_count, .missing = missing};
  LINNET_TRY(append_tokens(scorer, u.token, reference, num_reference, &u.num_reference));
  LINNET_TRY(append_tokens(scorer, u.token + u.num_reference, hypothesis, num_hypothesis, &u.num_hypothesis));
  LINNET_TRY(align_utterance(scorer, &u));
  return commit(scorer, id, speaker, &u);
}

enum linnet_status linnet_scorer_add(struct linnet_scorer *scorer, const char *id, const char *speaker,
                                     const char *const *reference, size_t num_reference, const char *const *hypothesis,
                                     size_t num_hypothesis) {
  return add_utterance(scorer, id, speaker, reference, num_reference, hypothesis, num_hypothesis, false);
}

enum linnet_status linnet_scorer_add_missing(struct linnet_scorer *scorer, const char *id, const char *speaker,
                                             const char *const *reference, size_t num_reference) {
  return add_utterance(scorer, id, speaker, reference, num_reference, NULL, 0, true);
}

/* --- results ---------------------------------------------------------------------------------------------------- */

struct linnet_score_sum linnet_scorer_sum(const struct linnet_scorer *scorer) {
  return scorer->total;
}

size_t linnet_scorer_num_speakers(const struct linnet_scorer *scorer) {
  return scorer->speakers.count;
}

struct linnet_score_sum linnet_scorer_speaker(const struct linnet_scorer *scorer, size_t index) {
  return index < scorer->speakers.count ? scorer->sums[index] : (struct linnet_score_sum){.name = ""};
}

size_t linnet_scorer_num_utterances(const struct linnet_scorer *scorer) {
  return scorer->ids.count;
}

struct linnet_scored_utterance linnet_scorer_utterance(const struct linnet_scorer *scorer, size_t index) {
  if (index >= scorer->ids.count)
    return (struct linnet_scored_utterance){.id = ""};
  const struct linnet_scored *u = &scorer->utterances[index];
  return (struct linnet_scored_utterance){
      .id = linnet_names_text(&scorer->ids, index),
      .speaker = u->speaker == LINNET_NOT_FOUND ? NULL : linnet_names_text(&scorer->speakers, u->speaker),
      .score = u->score,
      .missing = u->missing,
      .num_pairs = u->edit_count,
  };
}

void linnet_scorer_alignment(const struct linnet_scorer *scorer, size_t index, struct linnet_score_pair *pairs) {
  if (index >= scorer->ids.count)
    return;
  const struct linnet_scored *u = &scorer->utterances[index];
  size_t i = u->token, j = u->token + u->num_reference;
  for (size_t k = 0; k < u->edit_count; k++)
    pairs[k] = linnet_scorer_step(scorer, scorer->edits[u->edit + k], &i, &j);
}

/* --- transcripts -------------------------------------------------------------------------------------------------- */

/* Scoring of whole files: references, hypotheses, speakers. */

enum linnet_status linnet_scorer_judge_extra(const struct linnet_scorer *scorer, size_t extra, size_t count,
                                             const char *first) {
  if (extra == 0)
    return LINNET_OK;
  if (!scorer->settings.allow_extra)
    return linnet_fail(scorer->context, LINNET_ERROR_FORMAT,
                       "%zu of %zu hypothes%s %s no reference, the first is '%.100s': is this the right reference, "
                       "and does each line begin with an id?",
                       extra, count, count == 1 ? "is" : "es", extra == 1 ? "has" : "have", first);
  linnet_log(scorer->context, LINNET_LOG_WARNING,
             "%zu hypothes%s without a reference %s ignored, the first is '%.100s'", extra, extra == 1 ? "is" : "es",
             extra == 1 ? "is" : "are", first);
  return LINNET_OK;
}

static enum linnet_status check_extra(const struct linnet_scorer *scorer, const struct linnet_transcripts *reference,
                                      const struct linnet_transcripts *hypothesis) {
  size_t extra = 0, count = linnet_transcripts_num_utterances(hypothesis);
  const char *first = NULL;
  for (size_t i = 0; i < count; i++) {
    const char *id = linnet_transcripts_id(hypothesis, i);
    if (linnet_transcripts_find(reference, id) == LINNET_NOT_FOUND && extra++ == 0)
      first = id;
  }
  return linnet_scorer_judge_extra(scorer, extra, count, first);
}

enum linnet_status linnet_scorer_find_speaker(struct linnet_scorer *scorer, const struct linnet_transcripts *speakers,
                                              const char *id, const char **speaker) {
  *speaker = NULL;
  if (!speakers)
    return LINNET_OK;
  size_t count = 0, index = linnet_transcripts_find(speakers, id);
  const char *const *tokens = NULL;
  if (index != LINNET_NOT_FOUND)
    tokens = linnet_transcripts_tokens(speakers, index, &count);
  if (count != 1)
    return linnet_fail(scorer->context, LINNET_ERROR_FORMAT,
                       "utterance '%.100s' has %s speaker: the table of speakers needs a line 'ID SPEAKER' for it", id,
                       count == 0 ? "no" : "more than one");
  *speaker = tokens[0];
  return LINNET_OK;
}

static enum linnet_status add_transcript(struct linnet_scorer *scorer, const struct linnet_transcripts *reference,
                                         size_t index, const struct linnet_transcripts *hypothesis,
                                         const struct linnet_transcripts *speakers) {
  const char *id = linnet_transcripts_id(reference, index), *speaker;
  LINNET_TRY(linnet_scorer_find_speaker(scorer, speakers, id, &speaker));
  size_t n, m = 0, other = linnet_transcripts_find(hypothesis, id);
  const char *const *reference_tokens = linnet_transcripts_tokens(reference, index, &n);
  if (other == LINNET_NOT_FOUND)
    return linnet_scorer_add_missing(scorer, id, speaker, reference_tokens, n);
  const char *const *hypothesis_tokens = linnet_transcripts_tokens(hypothesis, other, &m);
  return linnet_scorer_add(scorer, id, speaker, reference_tokens, n, hypothesis_tokens, m);
}

enum linnet_status linnet_scorer_add_transcripts(struct linnet_scorer *scorer,
                                                 const struct linnet_transcripts *reference,
                                                 const struct linnet_transcripts *hypothesis,
                                                 const struct linnet_transcripts *speakers) {
  if (!scorer)
    return LINNET_ERROR_ARGUMENT;
  if (!reference || !hypothesis)
    return linnet_fail(scorer->context, LINNET_ERROR_ARGUMENT, "linnet_scorer_add_transcripts: an argument is NULL");
  LINNET_TRY(check_extra(scorer, reference, hypothesis));
  for (size_t i = 0; i < linnet_transcripts_num_utterances(reference); i++)
    LINNET_TRY(add_transcript(scorer, reference, i, hypothesis, speakers));
  return LINNET_OK;
}
