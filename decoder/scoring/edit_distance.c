/* Dynamic programming over the table D (n + 1, m + 1), where D[i][j] is the minimum cost of turning the first i tokens
 * of the reference into the first j of the hypothesis:
 *
 *   D[i][j] = min(D[i-1][j-1] + (equal ? 0 : 4), D[i][j-1] + 3, D[i-1][j] + 3)
 *
 * To trace the alignment back, one byte per cell says which of the three it was. To save memory, the
 * table is divided into blocks of `height` rows. A first pass saves only the row of costs above each block.
 * Then the bytes of each block, from the last to the first, are computed again, and the alignment is traced back
 * through it. */
#include "decoder/scoring/scorer.h"

#include <math.h>
#include <string.h>

#include "base/numbers.h"

/* An hour of speech has about 40 000 phones. These limits keep the table below 200 MB and the time below a minute. */
enum { MAX_TOKENS = 1 << 18, SMALL_TABLE = 1 << 22 };
static const double max_cells = 0x1p33;

struct alignment {
  const int *reference, *hypothesis;
  size_t n, m;
  size_t height;   /* rows of a block */
  uint32_t *above; /* (blocks, m + 1): row height * b of D */
  uint32_t *row;   /* (m + 1): the current row of D */
  uint8_t *from;   /* (height, m + 1): how each cell of the block was reached */
};

static void first_row(uint32_t *row, size_t m) {
  for (size_t j = 0; j <= m; j++)
    row[j] = (uint32_t)j * LINNET_EDIT_COST_INSERTION;
}

/* Replaces row i - 1 of D by row i; `token` is the i-th of the reference. */
static void next_row(const int *hypothesis, size_t m, int token, uint32_t *row, uint8_t *from) {
  uint32_t diagonal = row[0];
  row[0] += LINNET_EDIT_COST_DELETION;
  from[0] = LINNET_EDIT_DELETION;
  for (size_t j = 1; j <= m; j++) {
    bool equal = hypothesis[j - 1] == token;
    uint32_t best = diagonal + (equal ? 0 : LINNET_EDIT_COST_SUBSTITUTION);
    uint32_t insertion = row[j - 1] + LINNET_EDIT_COST_INSERTION, deletion = row[j] + LINNET_EDIT_COST_DELETION;
    uint8_t edit = equal ? LINNET_EDIT_MATCH : LINNET_EDIT_SUBSTITUTION;
    if (insertion < best) {
      best = insertion;
      edit = LINNET_EDIT_INSERTION;
    }
    if (deletion < best) {
      best = deletion;
      edit = LINNET_EDIT_DELETION;
    }
    diagonal = row[j];
    row[j] = best;
    from[j] = edit;
  }
}

/* The first pass ends at the top of the last block. */
static void first_pass(struct alignment *a, size_t blocks) {
  size_t width = a->m + 1;
  first_row(a->row, a->m);
  for (size_t b = 0;; b++) {
    memcpy(a->above + b * width, a->row, width * sizeof *a->row);
    if (b + 1 == blocks)
      return;
    for (size_t i = b * a->height; i < (b + 1) * a->height; i++)
      next_row(a->hypothesis, a->m, a->reference[i], a->row, a->from);
  }
}

/* Fills `from` for rows top + 1 ... bottom. */
static void fill_block(struct alignment *a, size_t block, size_t top, size_t bottom) {
  size_t width = a->m + 1;
  memcpy(a->row, a->above + block * width, width * sizeof *a->row);
  for (size_t i = top; i < bottom; i++)
    next_row(a->hypothesis, a->m, a->reference[i], a->row, a->from + (i - top) * width);
}

/* Walks back from (n, m) to (0, 0), writing the steps in this order. */
static size_t walk_back(struct alignment *a, size_t blocks, uint8_t *edits) {
  size_t i = a->n, j = a->m, count = 0;
  for (size_t b = blocks; b-- > 0;) {
    size_t top = b * a->height;
    if (i > top)
      fill_block(a, b, top, i);
    while (i > top) {
      uint8_t edit = a->from[(i - top - 1) * (a->m + 1) + j];
      edits[count++] = edit;
      i -= edit != LINNET_EDIT_INSERTION;
      j -= edit != LINNET_EDIT_DELETION;
    }
  }
  for (; j > 0; j--)
    edits[count++] = LINNET_EDIT_INSERTION;
  return count;
}

static void reverse(uint8_t *edits, size_t count) {
  for (size_t k = 0; k < count / 2; k++) {
    uint8_t edit = edits[k];
    edits[k] = edits[count - 1 - k];
    edits[count - 1 - k] = edit;
  }
}

/* Rows per block: all rows if the table is small, else the number for which a block and the rows above the blocks take
 * equal memory. */
static size_t block_height(size_t n, size_t m) {
  if (n == 0 || n <= SMALL_TABLE / (m + 1))
    return n == 0 ? 1 : n;
  size_t height = (size_t)(2 * sqrt((double)n));
  return height < n ? height : n;
}

enum linnet_status linnet_align(struct linnet_context *context, const int *reference, size_t n, const int *hypothesis,
                                size_t m, uint8_t *edits, size_t *count) {
  if (n > MAX_TOKENS || m > MAX_TOKENS || (double)n * (double)m > max_cells)
    return linnet_fail(context, LINNET_ERROR_LIMIT,
                       "cannot align %zu with %zu tokens: divide long recordings into pieces of at most 90000 tokens",
                       n, m);
  struct alignment a = {.reference = reference, .hypothesis = hypothesis, .n = n, .m = m};
  a.height = block_height(n, m);
  size_t blocks = n == 0 ? 1 : linnet_divide_up(n, a.height);
  a.above = linnet_alloc(context, blocks * (m + 1), sizeof *a.above);
  a.row = linnet_alloc(context, m + 1, sizeof *a.row);
  a.from = linnet_alloc(context, a.height * (m + 1), 1);
  bool good = a.above && a.row && a.from;
  if (good) {
    first_pass(&a, blocks);
    *count = walk_back(&a, blocks, edits);
    reverse(edits, *count);
  }
  linnet_free(context, a.above);
  linnet_free(context, a.row);
  linnet_free(context, a.from);
  return good ? LINNET_OK
              : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the alignment of %zu with %zu tokens", n,
                            m);
}

/* --- the public counts ---------------------------------------------------------------------------------------- */

enum linnet_status linnet_score_add(struct linnet_context *context, const int *reference, size_t num_reference,
                                    const int *hypothesis, size_t num_hypothesis, struct linnet_score *score) {
  if (!context || !score || (!reference && num_reference > 0) || (!hypothesis && num_hypothesis > 0))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_score_add: an argument is NULL");
  size_t capacity, count = 0;
  if (!linnet_add_size(num_reference, num_hypothesis, &capacity))
    return linnet_fail(context, LINNET_ERROR_LIMIT, "linnet_score_add: the number of tokens is too large");
  uint8_t *edits = linnet_alloc(context, capacity, 1);
  if (!edits)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the alignment of %zu tokens", capacity);
  enum linnet_status status =
      linnet_align(context, reference, num_reference, hypothesis, num_hypothesis, edits, &count);
  if (status == LINNET_OK)
    linnet_count_edits(edits, count, score);
  linnet_free(context, edits);
  return status;
}

void linnet_count_edits(const uint8_t *edits, size_t count, struct linnet_score *score) {
  for (size_t k = 0; k < count; k++) {
    score->num_reference += edits[k] != LINNET_EDIT_INSERTION;
    score->num_substitutions += edits[k] == LINNET_EDIT_SUBSTITUTION;
    score->num_insertions += edits[k] == LINNET_EDIT_INSERTION;
    score->num_deletions += edits[k] == LINNET_EDIT_DELETION;
  }
}

double linnet_score_percent(const struct linnet_score *score) {
  double errors = (double)score->num_substitutions + (double)score->num_insertions + (double)score->num_deletions;
  if (score->num_reference == 0)
    return errors > 0 ? INFINITY : 0;
  return 100 * errors / (double)score->num_reference;
}
