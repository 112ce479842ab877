/* The path of a forced alignment as phones, words and jumps. */
#include "decoder/align/alignment.h"

static const struct linnet_align_state *state_at(const struct linnet_align_maker *m, size_t t) {
  return &m->graph.state[m->path.state[t]];
}

/* Adds a phone that begins at frame t; it begins a new word if `fresh`. */
static enum linnet_status open_phone(struct linnet_align_maker *m, size_t t, bool fresh) {
  struct linnet_alignment *a = m->result;
  const struct linnet_align_state *state = state_at(m, t);
  struct linnet_aligned_phone *phones =
      linnet_grow(m->context, a->phones, &a->phone_capacity, a->num_phones + 1, sizeof *phones);
  if (!phones)
    return linnet_align_out_of_memory(m);
  a->phones = phones;
  if (fresh) {
    struct linnet_aligned_word *words =
        linnet_grow(m->context, a->words, &a->word_capacity, a->num_words + 1, sizeof *words);
    if (!words)
      return linnet_align_out_of_memory(m);
    a->words = words;
    words[a->num_words++] = (struct linnet_aligned_word){
        .word = state->word, .variant = state->variant, .phone = a->num_phones, .start = t};
  }
  phones[a->num_phones++] = (struct linnet_aligned_phone){.symbol = state->symbol, .start = t};
  a->words[a->num_words - 1].num_phones++;
  return LINNET_OK;
}

static void extend_phone(struct linnet_align_maker *m, size_t t) {
  m->result->phones[m->result->num_phones - 1].end = t + 1;
  m->result->words[m->result->num_words - 1].end = t + 1;
}

/* Adds a jump over frames [start, end): the text continues at word `to` instead of word `from`. */
static enum linnet_status add_jump(struct linnet_align_maker *m, size_t start, size_t end, size_t from, size_t to) {
  struct linnet_alignment *a = m->result;
  struct linnet_align_jump *jumps =
      linnet_grow(m->context, a->jumps, &a->jump_capacity, a->num_jumps + 1, sizeof *jumps);
  if (!jumps)
    return linnet_align_out_of_memory(m);
  a->jumps = jumps;
  enum linnet_jump_kind kind = to > from   ? LINNET_JUMP_SKIPPED
                               : to < from ? LINNET_JUMP_REPEATED
                                           : LINNET_JUMP_INSERTED;
  jumps[a->num_jumps++] = (struct linnet_align_jump){.kind = kind,
                                                     .word = to > from ? from : to,
                                                     .num_words = to > from ? to - from : from - to,
                                                     .start = start,
                                                     .end = end};
  return LINNET_OK;
}

/* The word that comes after a state: an anchor is before its word, a label within it. */
static size_t word_after(const struct linnet_align_state *state) {
  return state->symbol == 0 ? state->word : (size_t)state->word + 1;
}

/* Handles the frames outside the text from `start` on; *end is the frame after them. The path leaves the text after a
 * word and reenters it before a word. The start of the audio counts as the start of the text, the end as its end. */
static enum linnet_status read_jump(struct linnet_align_maker *m, size_t start, size_t *end) {
  size_t t = start;
  while (t < m->frames && m->path.state[t] == LINNET_ALIGN_OUTSIDE)
    t++;
  *end = t;
  return add_jump(m, start, t, start > 0 ? word_after(state_at(m, start - 1)) : 0,
                  t < m->frames ? state_at(m, t)->word : m->count);
}

enum linnet_status linnet_align_read_path(struct linnet_align_maker *m) {
  size_t last_word = SIZE_MAX; /* the word of the last label; none after a jump */
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
