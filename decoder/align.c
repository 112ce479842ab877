/* Forced alignment: checks, widens the band until the path keeps off its edge, and turns the path into phones, words
 * and jumps. */
#include <linnet/align.h>

#include <math.h>
#include <string.h>

#include "decoder/align_viterbi.h"
#include "decoder/gop.h"

enum { MAX_SYMBOLS = 1 << 24, DEFAULT_BAND = 8192 };
static const double all_states_cells = 0x1p28; /* frames x states that are searched in full by default */

struct linnet_alignment {
  struct linnet_context *context;
  double score;
  struct linnet_aligned_phone *phones;
  struct linnet_aligned_word *words;
  struct linnet_align_jump *jumps;
  size_t phone_count, phone_capacity, word_count, word_capacity, jump_count, jump_capacity;
};

/* All that making an alignment needs. */
struct maker {
  struct linnet_context *context;
  const float *log_posteriors;
  size_t frames, symbols;
  const struct linnet_align_word *words;
  size_t count;
  struct linnet_align_settings settings;
  struct linnet_align_graph graph;
  struct linnet_align_path path;
  struct linnet_alignment *result;
};

void linnet_align_settings_default(struct linnet_align_settings *settings) {
  *settings = (struct linnet_align_settings){
      .size = sizeof *settings, .band = 0, .jumps = 0, .jump_cost = 60, .frame_cost = 2, .doubt = -4};
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

static enum linnet_status check_variant(const struct maker *m, size_t w, const struct linnet_pronunciation *variant) {
  if (variant->count == 0 || !variant->labels)
    return linnet_fail(m->context, LINNET_ERROR_ARGUMENT,
                       "linnet_alignment_create: word %zu has a pronunciation "
                       "without labels",
                       w);
  for (size_t i = 0; i < variant->count; i++)
    if (variant->labels[i] < 1 || (size_t)variant->labels[i] >= m->symbols)
      return linnet_fail(m->context, LINNET_ERROR_ARGUMENT,
                         "linnet_alignment_create: label %d of word %zu, must be 1 to %zu", variant->labels[i], w,
                         m->symbols - 1);
  return LINNET_OK;
}

static enum linnet_status check_words(const struct maker *m) {
  for (size_t w = 0; w < m->count; w++) {
    const struct linnet_align_word *word = &m->words[w];
    if (!word->variants || word->count < 1 || word->count > LINNET_ALIGN_MAX_VARIANTS)
      return linnet_fail(m->context, LINNET_ERROR_ARGUMENT,
                         "linnet_alignment_create: word %zu has %zu pronunciations, must be 1 to %d", w, word->count,
                         LINNET_ALIGN_MAX_VARIANTS);
    for (size_t v = 0; v < word->count; v++)
      LINNET_TRY(check_variant(m, w, &word->variants[v]));
  }
  return LINNET_OK;
}

static enum linnet_status check_settings(const struct maker *m) {
  const struct linnet_align_settings *s = &m->settings;
  /* Negative costs, or NaN, would make leaving the text pay. */
  if (s->size != sizeof *s || !(s->jump_cost >= 0) || !(s->frame_cost >= 0) || isnan(s->doubt))
    return linnet_fail(m->context, LINNET_ERROR_ARGUMENT,
                       "linnet_alignment_create: settings: size %zu, jump_cost %g and frame_cost %g must not be "
                       "negative, doubt %g",
                       s->size, (double)s->jump_cost, (double)s->frame_cost, (double)s->doubt);
  return LINNET_OK;
}

static enum linnet_status check_length(const struct maker *m) {
  size_t needed = m->settings.jumps && m->graph.min_frames > 0 ? 1 : m->graph.min_frames;
  if (needed <= m->frames)
    return LINNET_OK;
  return linnet_fail(m->context, LINNET_ERROR_LIMIT,
                     "the text needs at least %zu frames and the audio has %zu: is it the text of this recording? "
                     "A text with more than was said can be aligned with jumps allowed",
                     needed, m->frames);
}

/* --- search ------------------------------------------------------------------------------------------------------- */

static size_t first_band(const struct maker *m) {
  if (m->settings.band > 0)
    return m->settings.band;
  bool all = (double)m->frames * (double)m->graph.count <= all_states_cells;
  return all ? m->graph.count : DEFAULT_BAND;
}

static enum linnet_status search(struct maker *m) {
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
    linnet_log(m->context, LINNET_LOG_INFO, "alignment: %s a band of %zu states: doubled",
               found ? "the path comes near the edge of" : "no path in", problem.band);
  }
  if (m->path.score == -INFINITY)
    return linnet_fail(m->context, LINNET_ERROR_NUMERIC,
                       "the text cannot be aligned: every path has probability 0 (%zu frames, %zu words)", m->frames,
                       m->count);
  return LINNET_OK;
}

/* --- the path as phones, words and jumps -------------------------------------------------------------------------- */

static const struct linnet_align_state *state_at(const struct maker *m, size_t t) {
  return &m->graph.state[m->path.state[t]];
}

static enum linnet_status out_of_memory(const struct maker *m) {
  return linnet_fail(m->context, LINNET_ERROR_MEMORY, "out of memory for the alignment of %zu words", m->count);
}

/* A phone that begins at frame t; of a new word if `fresh`. */
static enum linnet_status open_phone(struct maker *m, size_t t, bool fresh) {
  struct linnet_alignment *a = m->result;
  const struct linnet_align_state *state = state_at(m, t);
  struct linnet_aligned_phone *phones =
      linnet_grow(m->context, a->phones, &a->phone_capacity, a->phone_count + 1, sizeof *phones);
  if (!phones)
    return out_of_memory(m);
  a->phones = phones;
  if (fresh) {
    struct linnet_aligned_word *words =
        linnet_grow(m->context, a->words, &a->word_capacity, a->word_count + 1, sizeof *words);
    if (!words)
      return out_of_memory(m);
    a->words = words;
    words[a->word_count++] = (struct linnet_aligned_word){
        .word = state->word, .variant = state->variant, .phone = a->phone_count, .start = t};
  }
  phones[a->phone_count++] = (struct linnet_aligned_phone){.symbol = state->symbol, .start = t};
  a->words[a->word_count - 1].count++;
  return LINNET_OK;
}

static void extend_phone(struct maker *m, size_t t) {
  m->result->phones[m->result->phone_count - 1].end = t + 1;
  m->result->words[m->result->word_count - 1].end = t + 1;
}

/* The jump over frames [start, end), from before word `from` to before word `to`. */
static enum linnet_status add_jump(struct maker *m, size_t start, size_t end, size_t from, size_t to) {
  struct linnet_alignment *a = m->result;
  struct linnet_align_jump *jumps =
      linnet_grow(m->context, a->jumps, &a->jump_capacity, a->jump_count + 1, sizeof *jumps);
  if (!jumps)
    return out_of_memory(m);
  a->jumps = jumps;
  enum linnet_jump_kind kind = to > from   ? LINNET_JUMP_SKIPPED
                               : to < from ? LINNET_JUMP_REPEATED
                                           : LINNET_JUMP_INSERTED;
  jumps[a->jump_count++] = (struct linnet_align_jump){.kind = kind,
                                                      .word = to > from ? from : to,
                                                      .count = to > from ? to - from : from - to,
                                                      .start = start,
                                                      .end = end};
  return LINNET_OK;
}

/* The word that comes after a state: an anchor is before its word, a label within it. */
static size_t word_after(const struct linnet_align_state *state) {
  return state->symbol == 0 ? state->word : (size_t)state->word + 1;
}

/* The frames outside the text from `start` on; *end is the frame after them. The path leaves the text after a word and
 * enters it before one; the start and the end of the audio are those of the text. */
static enum linnet_status read_jump(struct maker *m, size_t start, size_t *end) {
  size_t t = start;
  while (t < m->frames && m->path.state[t] == LINNET_ALIGN_OUTSIDE)
    t++;
  *end = t;
  return add_jump(m, start, t, start > 0 ? word_after(state_at(m, start - 1)) : 0,
                  t < m->frames ? state_at(m, t)->word : m->count);
}

static enum linnet_status read_path(struct maker *m) {
  size_t last_word = SIZE_MAX; /* that the last label belongs to, none after a jump */
  for (size_t t = 0; t < m->frames;) {
    if (m->path.state[t] == LINNET_ALIGN_OUTSIDE) {
      LINNET_TRY(read_jump(m, t, &t));
      last_word = SIZE_MAX;
      continue;
    }
    const struct linnet_align_state *state = state_at(m, t);
    if (state->symbol != 0) {
      if (t == 0 || m->path.state[t - 1] != m->path.state[t])
        LINNET_TRY(open_phone(m, t, state->word != last_word));
      extend_phone(m, t);
      last_word = state->word;
    }
    t++;
  }
  return LINNET_OK;
}

/* --- measures ----------------------------------------------------------------------------------------------------- */

/* The frames between the neighbours of phone i: they end where the phone before ends, or a jump, and likewise after. */
static struct linnet_gop_window window_of(const struct maker *m, size_t i) {
  const struct linnet_alignment *a = m->result;
  const struct linnet_aligned_phone *phone = &a->phones[i];
  struct linnet_gop_window window = {.symbols = m->symbols, .symbol = phone->symbol};
  size_t first = phone->start, end = phone->end;
  size_t least = i > 0 ? phone[-1].end : 0, most = i + 1 < a->phone_count ? phone[1].start : m->frames;
  while (first > least && m->path.state[first - 1] != LINNET_ALIGN_OUTSIDE)
    first--;
  while (end < most && m->path.state[end] != LINNET_ALIGN_OUTSIDE)
    end++;
  window.before = i > 0 && first == least ? phone[-1].symbol : 0;
  window.after = i + 1 < a->phone_count && end == most ? phone[1].symbol : 0;
  window.log_posteriors = m->log_posteriors + first * m->symbols;
  window.frames = end - first;
  return window;
}

static void measure_phone(const struct maker *m, size_t i) {
  struct linnet_aligned_phone *phone = &m->result->phones[i];
  double posterior = 0, log_posterior = 0, frames = (double)(phone->end - phone->start);
  for (size_t t = phone->start; t < phone->end; t++) {
    double x = (double)m->log_posteriors[t * m->symbols + (size_t)phone->symbol];
    posterior += fmin(exp(x), 1.0);
    log_posterior += x;
  }
  struct linnet_gop_window window = window_of(m, i);
  phone->confidence = (float)(posterior / frames);
  phone->log_posterior = (float)(log_posterior / frames);
  phone->gop = (float)linnet_gop(&window);
}

static void measure_word(const struct maker *m, struct linnet_aligned_word *word) {
  double posterior = 0, frames = 0, gop = 0;
  for (size_t i = word->phone; i < word->phone + word->count; i++) {
    const struct linnet_aligned_phone *phone = &m->result->phones[i];
    posterior += (double)phone->confidence * (double)(phone->end - phone->start);
    frames += (double)(phone->end - phone->start);
    gop += (double)phone->gop;
  }
  word->confidence = (float)(posterior / frames);
  word->gop = (float)(gop / (double)word->count);
  word->doubtful = word->gop < m->settings.doubt;
}

static void measure(const struct maker *m) {
  for (size_t i = 0; i < m->result->phone_count; i++)
    measure_phone(m, i);
  for (size_t i = 0; i < m->result->word_count; i++)
    measure_word(m, &m->result->words[i]);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static enum linnet_status make(struct maker *m) {
  LINNET_TRY(check_settings(m));
  LINNET_TRY(check_words(m));
  LINNET_TRY(linnet_align_graph_build(m->context, m->words, m->count, &m->graph));
  LINNET_TRY(check_length(m));
  m->path.state = linnet_alloc(m->context, m->frames, sizeof *m->path.state);
  if (!m->path.state)
    return out_of_memory(m);
  LINNET_TRY(search(m));
  m->result->score = m->path.score;
  LINNET_TRY(read_path(m));
  measure(m);
  return LINNET_OK;
}

enum linnet_status linnet_alignment_create(struct linnet_context *context, const float *log_posteriors, size_t frames,
                                           int symbols, const struct linnet_align_word *words, size_t count,
                                           const struct linnet_align_settings *settings,
                                           struct linnet_alignment **alignment) {
  if (alignment)
    *alignment = NULL;
  if (!context || !alignment || (!log_posteriors && frames > 0) || (!words && count > 0))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_alignment_create: an argument is NULL");
  if (symbols < 1 || symbols > MAX_SYMBOLS || frames >= UINT32_MAX)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_alignment_create: %d symbols, must be 1 to %d; %zu "
                       "frames",
                       symbols, MAX_SYMBOLS, frames);
  struct maker m = {.context = context,
                    .log_posteriors = log_posteriors,
                    .frames = frames,
                    .symbols = (size_t)symbols,
                    .words = words,
                    .count = count,
                    .graph = {.context = context}};
  if (settings)
    m.settings = *settings;
  else
    linnet_align_settings_default(&m.settings);
  m.result = linnet_calloc(context, 1, sizeof *m.result);
  if (!m.result)
    return out_of_memory(&m);
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
                                                  size_t frames, int symbols, const int *labels, size_t count,
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
      variants[i] = (struct linnet_pronunciation){.labels = &labels[i], .count = 1};
      words[i] = (struct linnet_align_word){.variants = &variants[i], .count = 1};
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
  *count = alignment->phone_count;
  return alignment->phones;
}

const struct linnet_aligned_word *linnet_alignment_words(const struct linnet_alignment *alignment, size_t *count) {
  *count = alignment->word_count;
  return alignment->words;
}

const struct linnet_align_jump *linnet_alignment_jumps(const struct linnet_alignment *alignment, size_t *count) {
  *count = alignment->jump_count;
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
