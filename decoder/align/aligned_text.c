/* A text with pronunciations, and its alignment. */
#include "decoder/align/aligned_text.h"

#include <math.h>
#include <string.h>

#include "decoder/output/output.h"
#include "decoder/output/spans.h"
#include "decoder/text/pronounced_text.h"

void(linnet_text_aligner_settings_default)(struct linnet_text_aligner_settings *settings, size_t size) {
  static const struct linnet_text_aligner_settings defaults = {.size = sizeof defaults};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

/* --- the aligner -------------------------------------------------------------------------------------------------- */

static enum linnet_status load_rules(struct linnet_text_aligner *a, const struct linnet_source *source) {
  if (source->data)
    return linnet_text_normalizer_load_memory(a->context, source->data, source->bytes, linnet_source_name(source),
                                              &a->normalizer);
  return linnet_text_normalizer_load(a->context, source->path, &a->normalizer);
}

static enum linnet_status open_aligner(struct linnet_text_aligner *a, const char *const *names, size_t num_symbols,
                                       const struct linnet_text_aligner_settings *settings) {
  LINNET_TRY(linnet_emission_delay_check(a->context, settings->emission_delay));
  a->emission_delay = settings->emission_delay;
  LINNET_TRY(linnet_vocabulary_open(&a->vocabulary, a->context, names, num_symbols, &settings->lexicon));
  LINNET_TRY(load_rules(a, &settings->rules));
  LINNET_TRY(linnet_g2p_demand_create(a->context, &settings->g2p, &a->g2p));
  return linnet_g2p_demand_check(a->g2p, a->context);
}

enum linnet_status linnet_text_aligner_create(struct linnet_context *context, const char *const *names,
                                              size_t num_symbols, const struct linnet_text_aligner_settings *settings,
                                              struct linnet_text_aligner **aligner) {
  struct linnet_text_aligner_settings full;
  if (aligner)
    *aligner = NULL;
  if (!context || !names || !aligner || num_symbols < 1)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_text_aligner_create: an argument is NULL, or there are no symbols");
  LINNET_TRY(LINNET_READ_SETTINGS(context, text_aligner, settings, &full));
  struct linnet_text_aligner *a = linnet_calloc(context, 1, sizeof *a);
  if (!a)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for an aligner");
  a->context = context;
  enum linnet_status status = open_aligner(a, names, num_symbols, &full);
  if (status == LINNET_OK)
    *aligner = a;
  else
    linnet_text_aligner_destroy(a);
  return status;
}

void linnet_text_aligner_destroy(struct linnet_text_aligner *a) {
  if (!a)
    return;
  linnet_text_normalizer_destroy(a->normalizer);
  linnet_g2p_demand_destroy(a->g2p);
  linnet_vocabulary_close(&a->vocabulary);
  linnet_free(a->context, a);
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static enum linnet_status fail_memory(const struct linnet_aligned_text *t, const char *name) {
  return linnet_fail(t->context, LINNET_ERROR_MEMORY, "%s: out of memory for its text", name);
}

static enum linnet_status read_words(struct linnet_aligned_text *t, const char *text, const char *name) {
  struct linnet_pronounced_text_settings settings;
  linnet_pronounced_text_settings_default(&settings);
  settings.normalizer = t->aligner->normalizer;
  settings.lexicon = t->aligner->vocabulary.lexicon;
  settings.phones = t->aligner->vocabulary.symbols;
  LINNET_TRY(linnet_pronounced_text_open(t->context, text, name, &settings, t->aligner->g2p, &t->spoken));
  const struct linnet_written_word *all = linnet_pronounced_text_words(t->spoken, &t->num_tokens);
  t->words = linnet_pronounced_text_align_words(t->spoken, &t->num_words);
  t->tokens = linnet_alloc(t->context, t->num_tokens, sizeof *t->tokens);
  if (!t->tokens)
    return fail_memory(t, name);
  for (size_t i = 0; i < t->num_tokens; i++)
    t->tokens[i] = all[i].text;
  return LINNET_OK;
}

/* --- phones ------------------------------------------------------------------------------------------------------- */

/* Divides a text at white space. */
static bool read_tokens(struct linnet_aligned_text *t, const char *text) {
  static const char space[] = " \t\r\n\v\f";
  t->buffer = linnet_strdup(t->context, text);
  t->tokens = linnet_calloc(t->context, strlen(text) / 2 + 1, sizeof *t->tokens);
  char *rest = NULL;
  if (t->buffer && t->tokens)
    for (char *token = strtok_r(t->buffer, space, &rest); token; token = strtok_r(NULL, space, &rest))
      t->tokens[t->num_tokens++] = token;
  t->phones = linnet_calloc(t->context, t->num_tokens, sizeof *t->phones);
  t->labels = linnet_calloc(t->context, t->num_tokens, sizeof *t->labels);
  t->variants = linnet_calloc(t->context, t->num_tokens, sizeof *t->variants);
  return t->buffer && t->tokens && t->phones && t->labels && t->variants;
}

static enum linnet_status read_phones(struct linnet_aligned_text *t, const char *phones, const char *name) {
  if (!read_tokens(t, phones))
    return fail_memory(t, name);
  t->words = t->phones;
  t->num_words = t->num_tokens;
  for (size_t i = 0; i < t->num_tokens; i++) {
    t->labels[i] = linnet_symbols_find_phone(t->aligner->vocabulary.symbols, t->tokens[i]);
    if (t->labels[i] == 0)
      return linnet_fail(t->context, LINNET_ERROR_FORMAT,
                         "%s: '%s' is not a phone of the model; 'linnet info --symbols' lists them", name,
                         t->tokens[i]);
    t->variants[i] = (struct linnet_pronunciation){&t->labels[i], 1};
    t->phones[i] = (struct linnet_align_word){&t->variants[i], 1};
  }
  return LINNET_OK;
}

/* --- creation and destruction ------------------------------------------------------------------------------------- */

static enum linnet_status create(struct linnet_context *context, const struct linnet_text_aligner *aligner,
                                 const char *text, const char *name, bool words, struct linnet_aligned_text **result) {
  if (result)
    *result = NULL;
  if (!context || !aligner || !text || !name || !result)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_aligned_text_create: an argument is NULL");
  struct linnet_aligned_text *t = *result = linnet_calloc(context, 1, sizeof *t);
  if (!t)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for its text", name);
  t->context = context;
  t->aligner = aligner;
  enum linnet_status status = words ? read_words(t, text, name) : read_phones(t, text, name);
  if (status != LINNET_OK) {
    linnet_aligned_text_destroy(t);
    *result = NULL;
  }
  return status;
}

enum linnet_status linnet_aligned_text_create(struct linnet_context *context, const struct linnet_text_aligner *aligner,
                                              const char *text, const char *name, struct linnet_aligned_text **result) {
  return create(context, aligner, text, name, true, result);
}

enum linnet_status linnet_aligned_text_create_phones(struct linnet_context *context,
                                                     const struct linnet_text_aligner *aligner, const char *phones,
                                                     const char *name, struct linnet_aligned_text **result) {
  return create(context, aligner, phones, name, false, result);
}

/* The text is not aligned any more. */
static void forget(struct linnet_aligned_text *t) {
  linnet_aligned_spans_release(t);
  linnet_alignment_destroy(t->alignment);
  t->alignment = NULL;
}

void linnet_aligned_text_destroy(struct linnet_aligned_text *t) {
  if (!t)
    return;
  forget(t);
  linnet_pronounced_text_destroy(t->spoken);
  linnet_free(t->context, t->buffer);
  linnet_free(t->context, t->tokens);
  linnet_free(t->context, t->phones);
  linnet_free(t->context, t->variants);
  linnet_free(t->context, t->labels);
  linnet_free(t->context, t);
}

const char *const *linnet_aligned_text_tokens(const struct linnet_aligned_text *t, size_t *num_tokens) {
  *num_tokens = t->num_tokens;
  return t->tokens;
}

const struct linnet_written_word *linnet_aligned_text_words(const struct linnet_aligned_text *t, size_t *num_words) {
  *num_words = 0;
  return t->spoken ? linnet_pronounced_text_words(t->spoken, num_words) : NULL;
}

size_t linnet_aligned_text_num_aligned(const struct linnet_aligned_text *t) {
  return t->num_words;
}

size_t linnet_aligned_text_index(const struct linnet_aligned_text *t, size_t aligned) {
  return t->spoken ? linnet_pronounced_text_index(t->spoken, aligned) : aligned;
}

/* --- alignment ---------------------------------------------------------------------------------------------------- */

enum linnet_status linnet_aligned_text_align(struct linnet_aligned_text *t, const float *log_posteriors, size_t frames,
                                             double frame_seconds, double seconds,
                                             const struct linnet_align_settings *settings) {
  if (!t)
    return LINNET_ERROR_ARGUMENT;
  if (!(frame_seconds > 0 && frame_seconds < INFINITY && seconds >= 0))
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                       "linnet_aligned_text_align: frame_seconds is %g, it must be above 0, and seconds is %g, it must "
                       "be at least 0",
                       frame_seconds, seconds);
  struct linnet_align_settings full;
  LINNET_TRY(LINNET_READ_SETTINGS(t->context, align, settings, &full));
  forget(t);
  t->frames = frames;
  t->frame_seconds = frame_seconds;
  t->seconds = seconds;
  LINNET_TRY(linnet_alignment_create(t->context, log_posteriors, frames,
                                     linnet_symbols_num_symbols(t->aligner->vocabulary.symbols), t->words, t->num_words,
                                     &full, &t->alignment));
  const enum linnet_status status = linnet_aligned_spans_make(t, full.jumps);
  if (status != LINNET_OK)
    forget(t);
  return status;
}

const struct linnet_alignment *linnet_aligned_text_alignment(const struct linnet_aligned_text *t) {
  return t->alignment;
}

enum linnet_status linnet_aligned_text_describe(const struct linnet_aligned_text *t, struct linnet_output *output) {
  if (!t || !output)
    return linnet_fail(t ? t->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_aligned_text_describe: an argument is NULL");
  if (!t->phone_spans)
    return linnet_fail(t->context, LINNET_ERROR_STATE, "the text is not aligned: call linnet_aligned_text_align first");
  struct linnet_output full;
  LINNET_TRY(linnet_output_read(t->context, output, &full));
  full.phones = t->phone_spans;
  full.num_phones = t->num_phone_spans;
  full.words = t->word_spans;
  full.num_words = t->word_spans ? t->num_word_spans : 0;
  full.segment_ends = t->line_ends;
  full.num_segments = t->num_lines;
  full.jumps = t->jumps;
  full.num_jumps = t->jumps ? t->num_jumps : 0;
  linnet_output_fill(output, &full);
  return LINNET_OK;
}
