/* Forced alignment: checks the arguments, then searches in a band of states, which it widens until the path keeps away
 * from its edge. */
#include "decoder/align/alignment.h"

#include <math.h>

#include "base/numbers.h"
#include "base/settings.h"

enum { MAX_SYMBOLS = 1 << 24, DEFAULT_BAND = 8192 };
static const double all_states_cells =
    0x1p28; /* maximum of frames x states for which the default searches all states */

void(linnet_align_settings_default)(struct linnet_align_settings *settings, size_t size) {
  const struct linnet_align_settings defaults = {.size = sizeof(struct linnet_align_settings),
                                                 .band = 0,
                                                 .jumps = 0,
                                                 .jump_cost = 60,
                                                 .frame_cost = 2,
                                                 .doubt = -4};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

static enum linnet_status check_variant(const struct linnet_align_maker *m, size_t w,
                                        const struct linnet_pronunciation *variant) {
  if (variant->num_labels == 0 || !variant->labels)
    return linnet_fail(m->context, LINNET_ERROR_ARGUMENT,
                       "linnet_alignment_create: word %zu has a pronunciation "
                       "without labels",
                       w);
  for (size_t i = 0; i < variant->num_labels; i++)
    if (variant->labels[i] < 1 || (size_t)variant->labels[i] >= m->symbols)
      return linnet_fail(m->context, LINNET_ERROR_ARGUMENT,
                         "linnet_alignment_create: label %d of word %zu is out of range; it must be 1 to %zu",
                         variant->labels[i], w, m->symbols - 1);
  return LINNET_OK;
}

static enum linnet_status check_words(const struct linnet_align_maker *m) {
  for (size_t w = 0; w < m->count; w++) {
    const struct linnet_align_word *word = &m->words[w];
    if (!word->variants || word->num_variants < 1 || word->num_variants > LINNET_ALIGN_MAX_VARIANTS)
      return linnet_fail(m->context, LINNET_ERROR_ARGUMENT,
                         "linnet_alignment_create: word %zu has %zu pronunciations; it must have 1 to %d", w,
                         word->num_variants, LINNET_ALIGN_MAX_VARIANTS);
    for (size_t v = 0; v < word->num_variants; v++)
      LINNET_TRY(check_variant(m, w, &word->variants[v]));
  }
  return LINNET_OK;
}

static enum linnet_status check_settings(struct linnet_align_maker *m) {
  const struct linnet_align_settings *s = &m->settings;
  /* With negative costs or NaN, the best path would always leave the text. */
  if (!(s->jump_cost >= 0) || !(s->frame_cost >= 0) || isnan(s->doubt))
    return linnet_fail(
        m->context, LINNET_ERROR_ARGUMENT,
        "linnet_alignment_create: settings: jump_cost %g and frame_cost %g must be at least 0, and doubt %g a number",
        (double)s->jump_cost, (double)s->frame_cost, (double)s->doubt);
  return linnet_calibrations_copy(m->context, "linnet_alignment_create", s->calibrations, &m->calibrations);
}

static enum linnet_status check_length(const struct linnet_align_maker *m) {
  size_t needed = m->settings.jumps && m->graph.min_frames > 0 ? 1 : m->graph.min_frames;
  if (needed <= m->frames)
    return LINNET_OK;
  return linnet_fail(m->context, LINNET_ERROR_LIMIT,
                     "the text needs at least %zu frame%s and the audio has %zu: is it the text of this recording?%s",
                     needed, linnet_plural(needed), m->frames,
                     m->settings.jumps ? ""
                                       : " If the text has more words than the audio, allow jumps (linnet align "
                                         "--jumps)");
}

/* --- search ------------------------------------------------------------------------------------------------------- */

static size_t first_band(const struct linnet_align_maker *m) {
  if (m->settings.band > 0)
    return m->settings.band;
  bool all = (double)m->frames * (double)m->graph.count <= all_states_cells;
  return all ? m->graph.count : DEFAULT_BAND;
}

static enum linnet_status search(struct linnet_align_maker *m) {
  struct linnet_align_problem problem = {.context = m->context,
                                         .graph = &m->graph,
                                         .log_posteriors = m->log_posteriors,
                                         .frames = m->frames,
                                         .symbols = m->symbols,
                                         .jumps = m->settings.jumps,
                                         .jump_cost = m->settings.jump_cost,
                                         .frame_cost = m->settings.frame_cost,
                                         .band = first_band(m)};
  for (;; problem.band *= 2) {
    LINNET_TRY(linnet_align_viterbi(&problem, &m->path));
    bool found = m->path.score > -INFINITY;
    if (problem.band >= m->graph.count || (found && !m->path.near_edge))
      break;
    linnet_log(m->context, LINNET_LOG_INFO, "alignment: %s a band of %zu states: the band is doubled",
               found ? "the path comes near the edge of" : "no path in", problem.band);
  }
  if (m->path.score == -INFINITY)
    return linnet_fail(m->context, LINNET_ERROR_NUMERIC,
                       "the text cannot be aligned: every path has probability 0 (%zu frames, %zu words)", m->frames,
                       m->count);
  return LINNET_OK;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static enum linnet_status make(struct linnet_align_maker *m) {
  linnet_poll_begin(m->context);
  LINNET_TRY(check_settings(m));
  LINNET_TRY(check_words(m));
  LINNET_TRY(linnet_align_graph_build(m->context, m->words, m->count, &m->graph));
  LINNET_TRY(check_length(m));
  m->path.state = linnet_alloc(m->context, m->frames, sizeof *m->path.state);
  if (!m->path.state)
    return linnet_align_out_of_memory(m);
  LINNET_TRY(search(m));
  m->result->score = m->path.score;
  LINNET_TRY(linnet_align_read_path(m));
  return linnet_align_measure(m);
}

enum linnet_status linnet_alignment_create(struct linnet_context *context, const float *log_posteriors, size_t frames,
                                           size_t symbols, const struct linnet_align_word *words, size_t count,
                                           const struct linnet_align_settings *settings,
                                           struct linnet_alignment **alignment) {
  if (alignment)
    *alignment = NULL;
  if (!context || !alignment || (!log_posteriors && frames > 0) || (!words && count > 0))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_alignment_create: an argument is NULL");
  if (symbols < 1 || symbols > MAX_SYMBOLS || frames >= UINT32_MAX)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_alignment_create: %zu symbols; there must be 1 to %d; %zu frames", symbols, MAX_SYMBOLS,
                       frames);
  struct linnet_align_maker m = {.context = context,
                                 .log_posteriors = log_posteriors,
                                 .frames = frames,
                                 .symbols = symbols,
                                 .words = words,
                                 .count = count,
                                 .graph = {.context = context}};
  LINNET_TRY(LINNET_READ_SETTINGS(context, align, settings, &m.settings));
  m.result = linnet_calloc(context, 1, sizeof *m.result);
  if (!m.result)
    return linnet_align_out_of_memory(&m);
  m.result->context = context;
  enum linnet_status status = make(&m);
  if (status == LINNET_OK)
    *alignment = m.result;
  else
    linnet_alignment_destroy(m.result);
  linnet_align_graph_clear(&m.graph);
  linnet_free(context, m.path.state);
  return status;
}

enum linnet_status linnet_alignment_create_labels(struct linnet_context *context, const float *log_posteriors,
                                                  size_t frames, size_t symbols, const int *labels, size_t count,
                                                  const struct linnet_align_settings *settings,
                                                  struct linnet_alignment **alignment) {
  if (alignment)
    *alignment = NULL;
  if (!context || (!labels && count > 0))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_alignment_create_labels: an argument is NULL");
  struct linnet_pronunciation *variants = linnet_alloc(context, count, sizeof *variants);
  struct linnet_align_word *words = linnet_alloc(context, count, sizeof *words);
  enum linnet_status status;
  if (variants && words) {
    for (size_t i = 0; i < count; i++) {
      variants[i] = (struct linnet_pronunciation){.labels = &labels[i], .num_labels = 1};
      words[i] = (struct linnet_align_word){.variants = &variants[i], .num_variants = 1};
    }
    status = linnet_alignment_create(context, log_posteriors, frames, symbols, words, count, settings, alignment);
  } else {
    status = linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for %zu labels", count);
  }
  linnet_free(context, variants);
  linnet_free(context, words);
  return status;
}

const struct linnet_aligned_phone *linnet_alignment_phones(const struct linnet_alignment *alignment, size_t *count) {
  *count = alignment->num_phones;
  return alignment->phones;
}

const struct linnet_aligned_word *linnet_alignment_words(const struct linnet_alignment *alignment, size_t *count) {
  *count = alignment->num_words;
  return alignment->words;
}

const struct linnet_align_jump *linnet_alignment_jumps(const struct linnet_alignment *alignment, size_t *count) {
  *count = alignment->num_jumps;
  return alignment->jumps;
}

double linnet_alignment_score(const struct linnet_alignment *alignment) {
  return alignment->score;
}

void linnet_alignment_destroy(struct linnet_alignment *alignment) {
  if (!alignment)
    return;
  linnet_free(alignment->context, alignment->phones);
  linnet_free(alignment->context, alignment->words);
  linnet_free(alignment->context, alignment->jumps);
  linnet_free(alignment->context, alignment);
}
