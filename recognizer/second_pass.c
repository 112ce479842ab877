/* The second pass over a segment. */
#include "recognizer/second_pass.h"

#include <string.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/file.h"
#include "base/settings.h"
#include "decoder/search_parts.h"
#include "recognizer/recognizer_parts.h"

enum { MAX_PHRASES_BYTES = 1 << 26 };

/* --- what both passes read -----------------------------------------------------------------------------------------
 */

enum linnet_status linnet_source_share(struct linnet_context *context, const char *setting,
                                       struct linnet_source *source, void **data) {
  struct stat status;
  *data = NULL;
  if (!source->path || source->data || stat(source->path, &status) != 0 || S_ISREG(status.st_mode))
    return LINNET_OK;
  const enum linnet_status read = linnet_file_read(context, source->path, MAX_PHRASES_BYTES, data, &source->bytes);
  source->data = *data;
  return read == LINNET_OK ? LINNET_OK : linnet_fail_setting(context, setting, read);
}

enum linnet_status linnet_shared_search_open(struct linnet_context *context, const struct linnet_search_settings *given,
                                             struct linnet_shared_search *shared) {
  *shared = (struct linnet_shared_search){.hotwords = NULL};
  LINNET_TRY(LINNET_READ_SETTINGS(context, search, given, &shared->settings));
  LINNET_TRY(linnet_source_share(context, "hotwords", &shared->settings.hotwords, &shared->hotwords));
  return linnet_source_share(context, "grammar", &shared->settings.grammar, &shared->grammar);
}

void linnet_shared_search_release(struct linnet_context *context, struct linnet_shared_search *shared) {
  linnet_free(context, shared->hotwords);
  linnet_free(context, shared->grammar);
}

/* --- the recognizer ----------------------------------------------------------------------------------------------- */

static enum linnet_status check_pair(const struct linnet_recognizer *first, const struct linnet_recognizer *second) {
  LINNET_TRY(linnet_check_same_rows(first->context, first->model, second->model));
  if (first->search->kind == LINNET_SEARCH_WORDS && second->search->kind != LINNET_SEARCH_WORDS)
    return linnet_fail(first->context, LINNET_ERROR_UNSUPPORTED,
                       "it recognises phones, but the first pass words: name a recognizer with \"search\": \"words\"");
  return LINNET_OK;
}

/* Makes it a search for phones: greedy, or with the beam of the first pass, `given`. The rest belongs to the model. */
static void choose_phones(const struct linnet_search_settings *given, struct linnet_search_settings *search) {
  const struct linnet_search_settings words = *search;
  if (given->kind == LINNET_SEARCH_SYMBOLS)
    *search = *given;
  else
    linnet_search_settings_default(search);
  search->priors = words.priors;
  search->prior_scale = words.prior_scale;
  search->calibrations = words.calibrations;
  search->blank_penalty = words.blank_penalty;
  search->emission_delay = words.emission_delay;
}

/* The hotwords and the grammar of the first pass replace those of the second. Its model of pronunciations guesses their
 * words, and those of a stream's hotwords, if the second has none. */
static void take_phrases(const struct linnet_search_settings *first, struct linnet_search_settings *search) {
  const bool hotwords = linnet_source_given(&first->hotwords), grammar = linnet_source_given(&first->grammar);
  if (hotwords)
    search->hotwords = first->hotwords;
  if (grammar) {
    search->grammar = first->grammar;
    search->language_model = (struct linnet_source){.path = NULL};
  }
  if (!linnet_source_given(&search->g2p))
    search->g2p = first->g2p;
}

/* The kind of results is that of the first pass, whose search has the settings `given`. */
static void adapt_search(const struct linnet_recognizer *first, const struct linnet_search_settings *given,
                         struct linnet_search_settings *search) {
  const struct linnet_search *wanted = first->search;
  if (wanted->kind == LINNET_SEARCH_WORDS)
    take_phrases(given, search);
  else
    choose_phones(given, search);
  search->num_alternatives = wanted->num_alternatives;
  search->lattice = wanted->kind == LINNET_SEARCH_WORDS ? !wanted->words.recombine : given->lattice;
}

/* Whether both are the same file, or the same bytes in memory. */
static bool same_source(const struct linnet_source *a, const struct linnet_source *b) {
  struct stat first, second;
  if (a->data || b->data)
    return a->data == b->data && a->bytes == b->bytes;
  return a->path && b->path && stat(a->path, &first) == 0 && stat(b->path, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static enum linnet_status create(const struct linnet_recognizer *first, const struct linnet_recognizer_settings *given,
                                 const struct linnet_recognizer_file *file, struct linnet_recognizer **recognizer) {
  struct linnet_recognizer_settings settings;
  struct linnet_search_settings search, own;
  LINNET_TRY(LINNET_READ_SETTINGS(first->context, search, given->search, &own));
  linnet_recognizer_file_settings(file, &settings);
  linnet_recognizer_file_search_settings(file, &search);
  adapt_search(first, &own, &search);
  settings.search = &search;
  settings.endpoint = NULL;
  settings.partial_interval = 0;
  settings.second_pass = NULL;
  if (!(given->ensemble_weight > 0) && linnet_source_given(&settings.ensemble_model)) {
    settings.ensemble_weight = 0;
    search.calibrations = NULL; /* those of the file are of both models together */
  }
  const bool loaded = first->own_model && same_source(&given->model, &settings.ensemble_model);
  LINNET_TRY(linnet_recognizer_create_with(first->context, &settings, loaded ? first->model : NULL, recognizer));
  return check_pair(first, *recognizer);
}

enum linnet_status linnet_second_pass_load(const struct linnet_recognizer *first,
                                           const struct linnet_recognizer_settings *settings,
                                           struct linnet_recognizer **recognizer) {
  struct linnet_recognizer_file *file;
  *recognizer = NULL;
  enum linnet_status status = linnet_recognizer_file_load(first->context, settings->second_pass, &file);
  if (status == LINNET_OK) {
    status = create(first, settings, file, recognizer);
    if (status != LINNET_OK)
      linnet_fail_setting(first->context, file->name, status);
    linnet_recognizer_file_destroy(file);
  }
  return status == LINNET_OK ? LINNET_OK : linnet_fail_setting(first->context, "second_pass", status);
}

/* --- the pass of a stream ----------------------------------------------------------------------------------------- */

struct linnet_second_pass {
  struct linnet_context *context;
  struct linnet_recognizer_stream *stream;
  size_t dim, stride;
  double row_seconds;
  uint64_t known, row;                     /* the rows with which the features begin, and the segment */
  float *features;                         /* (frames, dim) */
  size_t frames, capacity;                 /* capacity in elements */
  const struct linnet_result *result;      /* of the segment; NULL: it has not been recognised */
  struct linnet_stream_hotwords *hotwords; /* of the next segment, if it changes them */
  bool changes_hotwords;
};

enum linnet_status linnet_second_pass_create(struct linnet_context *context, const struct linnet_recognizer *recognizer,
                                             struct linnet_second_pass **pass) {
  struct linnet_feature_config features;
  struct linnet_second_pass *p = *pass = linnet_calloc(context, 1, sizeof *p);
  if (!p)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a second pass");
  linnet_model_features(recognizer->model, &features);
  p->context = context;
  p->dim = features.fbank.num_mel;
  p->stride = linnet_model_stride(recognizer->model);
  p->row_seconds = linnet_model_frame_seconds(recognizer->model);
  return linnet_recognizer_stream_create(context, recognizer, &p->stream);
}

void linnet_second_pass_destroy(struct linnet_second_pass *p) {
  if (!p)
    return;
  linnet_recognizer_stream_destroy(p->stream);
  linnet_stream_hotwords_destroy(p->hotwords);
  linnet_free(p->context, p->features);
  linnet_free(p->context, p);
}

enum linnet_status linnet_second_pass_accept(struct linnet_second_pass *p, const float *features, size_t frames) {
  float *grown = linnet_grow(p->context, p->features, &p->capacity, (p->frames + frames) * p->dim, sizeof *p->features);
  if (!grown)
    return linnet_fail(p->context, LINNET_ERROR_MEMORY, "out of memory for the features of a segment of %zu frames",
                       p->frames + frames);
  p->features = grown;
  memcpy(grown + p->frames * p->dim, features, frames * p->dim * sizeof *features);
  p->frames += frames;
  return LINNET_OK;
}

/* The number of stored frames before a row. */
static size_t frames_before(const struct linnet_second_pass *p, uint64_t row) {
  const uint64_t rows = row - p->known;
  return rows > p->frames / p->stride ? p->frames : (size_t)rows * p->stride;
}

enum linnet_status linnet_second_pass_run(struct linnet_second_pass *p, uint64_t end) {
  linnet_recognizer_stream_reset_at(p->stream, p->row, (size_t)(p->row - p->known));
  LINNET_TRY(linnet_recognizer_stream_accept_features(p->stream, p->features, frames_before(p, end), p->dim));
  LINNET_TRY(linnet_recognizer_stream_finish(p->stream));
  return linnet_recognizer_stream_result_by_row(p->stream, &p->result);
}

const struct linnet_result *linnet_second_pass_result(const struct linnet_second_pass *p) {
  return p->result;
}

void linnet_second_pass_clip(struct linnet_second_pass *p, double seconds) {
  if (p->result)
    linnet_recognizer_stream_clip(p->stream, seconds);
}

const struct linnet_search_stream *linnet_second_pass_search(const struct linnet_second_pass *p) {
  return p->result ? linnet_recognizer_stream_search(p->stream) : NULL;
}

/* Forgets the frames before a row. */
static void forget(struct linnet_second_pass *p, uint64_t row) {
  const size_t forgotten = frames_before(p, row);
  p->frames -= forgotten;
  if (forgotten > 0)
    memmove(p->features, p->features + forgotten * p->dim, p->frames * p->dim * sizeof *p->features);
  p->known = row;
}

/* The search takes them when it is reset for the next pass. */
static void pass_hotwords(struct linnet_second_pass *p) {
  if (!p->changes_hotwords)
    return;
  linnet_search_stream_take_hotwords(linnet_recognizer_stream_first_search(p->stream), p->hotwords, false);
  p->hotwords = NULL;
  p->changes_hotwords = false;
}

void linnet_second_pass_begin(struct linnet_second_pass *p, uint64_t row, uint64_t known) {
  pass_hotwords(p);
  const uint64_t most = (uint64_t)(LINNET_SECOND_PASS_CONTEXT / p->row_seconds);
  const uint64_t first = row - known > most ? row - most : known;
  if (first > p->known)
    forget(p, first);
  p->row = row;
  p->result = NULL;
}

void linnet_second_pass_reset(struct linnet_second_pass *p) {
  pass_hotwords(p);
  p->frames = 0;
  p->known = p->row = 0;
  p->result = NULL;
}

enum linnet_status linnet_second_pass_read_hotwords(const struct linnet_second_pass *p,
                                                    const struct linnet_source *source,
                                                    struct linnet_stream_hotwords **hotwords) {
  return linnet_search_stream_read_hotwords(linnet_recognizer_stream_first_search(p->stream), source, hotwords);
}

void linnet_second_pass_take_hotwords(struct linnet_second_pass *p, struct linnet_stream_hotwords *hotwords,
                                      bool at_once) {
  linnet_stream_hotwords_destroy(p->hotwords);
  p->hotwords = hotwords;
  p->changes_hotwords = true;
  if (at_once)
    pass_hotwords(p);
}

enum linnet_status linnet_second_pass_set_speaker(struct linnet_second_pass *p, const struct linnet_cmvn *cmvn) {
  return linnet_recognizer_stream_set_speaker(p->stream, cmvn);
}
