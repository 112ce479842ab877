/* Writes packed batches in the form that kernels read. */
#include "backend/cuda/launch.h"

#include "base/numbers.h"

static size_t pieces_of(size_t rows) {
  return linnet_divide_up(rows, LINNET_CUDA_PIECE);
}

static size_t count_pieces(const struct linnet_pack *p) {
  size_t pieces = 0;
  for (size_t s = 0; s < p->sequences; s++)
    pieces += pieces_of(p->offsets[s + 1] - p->offsets[s]);
  return pieces;
}

static size_t longest_of(const struct linnet_pack *p) {
  size_t longest = 0;
  for (size_t s = 0; s < p->sequences; s++) {
    size_t rows = p->offsets[s + 1] - p->offsets[s];
    longest = rows > longest ? rows : longest;
  }
  return longest;
}

size_t linnet_cuda_pack_bytes(const struct linnet_pack *p) {
  return count_pieces(p) * sizeof(struct linnet_cuda_piece) + 2 * (p->sequences + 1) * sizeof(uint32_t);
}

static struct linnet_cuda_piece *write_pieces(size_t begin, size_t end, size_t sequence,
                                              struct linnet_cuda_piece *piece) {
  for (size_t first = begin; first < end; first += LINNET_CUDA_PIECE) {
    size_t rows = end - first < LINNET_CUDA_PIECE ? end - first : LINNET_CUDA_PIECE;
    *piece++ = (struct linnet_cuda_piece){(uint32_t)first, (uint32_t)rows, (uint32_t)sequence};
  }
  return piece;
}

struct linnet_cuda_pack linnet_cuda_pack_write(const struct linnet_pack *p, void *host, const void *device) {
  struct linnet_cuda_pack pack = {.sequences = p->sequences,
                                  .rows = p->offsets[p->sequences],
                                  .longest = longest_of(p),
                                  .pieces = count_pieces(p),
                                  .table = device};
  struct linnet_cuda_piece *table = host, *piece = table;
  uint32_t *offsets = (uint32_t *)(table + pack.pieces), *first_piece = offsets + p->sequences + 1;
  pack.offsets = (const uint32_t *)(pack.table + pack.pieces);
  pack.first_piece = pack.offsets + p->sequences + 1;
  offsets[0] = first_piece[0] = 0;
  for (size_t s = 0; s < p->sequences; s++) {
    piece = write_pieces(p->offsets[s], p->offsets[s + 1], s, piece);
    offsets[s + 1] = (uint32_t)p->offsets[s + 1];
    first_piece[s + 1] = (uint32_t)(piece - table);
  }
  return pack;
}

size_t linnet_cuda_steps_bytes(const struct linnet_pack *p) {
  return p->sequences * sizeof(int32_t) + longest_of(p) * sizeof(uint32_t);
}

struct linnet_cuda_steps linnet_cuda_steps_write(const struct linnet_pack *p, const struct linnet_sequence_span *spans,
                                                 const struct linnet_sequence_span *device_spans, void *host,
                                                 const void *device) {
  struct linnet_cuda_steps steps = {.longest = longest_of(p), .spans = device_spans, .lengths = device};
  int32_t *lengths = host;
  uint32_t *first = (uint32_t *)(lengths + p->sequences), row = 0;
  steps.first = (const uint32_t *)(steps.lengths + p->sequences);
  for (size_t s = 0; s < p->sequences; s++) {
    lengths[s] = (int32_t)spans[s].frames;
    steps.sequences += spans[s].frames > 0;
  }
  for (size_t step = 0, running = steps.sequences; step < steps.longest; step++) {
    while (spans[running - 1].frames <= step)
      running--;
    first[step] = row;
    row += (uint32_t)running;
  }
  return steps;
}
