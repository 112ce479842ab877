/* Many-to-many alignment of letters with phones by expectation-maximisation (Jiampojamarn, Kondrak and Sherif 2007).
 *
 * A path through the lattice of (letters, phones) of an entry leads from (0, 0) to its end; an arc is a unit. The
 * probability of a path is the product of its units' probabilities, which are those that make all entries together most
 * probable. */
#include <math.h>
#include <string.h>

#include "decoder/g2p/g2p.h"

/* The shapes of units. Two letters with no phone are two units, and so are two letters with two phones. */
static const struct shape { unsigned letters, phones; } SHAPES[] = {{1, 0}, {1, 1}, {1, 2}, {2, 1}};

enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

static const uint32_t NONE = UINT32_MAX;

struct unit {
  uint64_t key;
  double probability, expected;
};

/* Arrays of an entry have shape (letters + 1, phones + 1). An arc is stored at the node where it ends. */
struct aligner {
  const struct g2p_data *data;
  struct unit *units;
  size_t unit_count, unit_capacity;
  uint32_t *slots; /* open addressing: index + 1, 0 is free */
  size_t slot_count;
  uint32_t *arcs; /* (nodes, SHAPE_COUNT) units or NONE */
  double *alpha, *beta;
  double alpha_log[G2P_MAX_LETTERS + 1],
      beta_log[G2P_MAX_LETTERS + 1]; /* logarithms of the product of all divisors up to a row */
  size_t arc_capacity, alpha_capacity, beta_capacity;
};

static enum linnet_status out_of_memory(const struct aligner *a) {
  return linnet_fail(a->data->context, LINNET_ERROR_MEMORY, "out of memory for the alignment of %zu pronunciations",
                     a->data->count);
}

/* --- units ------------------------------------------------------------------------------------------------------ */

static size_t slot_of(const struct aligner *a, uint64_t key) {
  size_t mask = a->slot_count - 1, at = (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & mask;
  while (a->slots[at] != 0 && a->units[a->slots[at] - 1].key != key)
    at = (at + 1) & mask;
  return at;
}

static bool grow_slots(struct aligner *a) {
  size_t count = a->slot_count == 0 ? 1024 : 2 * a->slot_count;
  uint32_t *slots = linnet_calloc(a->data->context, count, sizeof *slots);
  if (!slots)
    return false;
  linnet_free(a->data->context, a->slots);
  a->slots = slots;
  a->slot_count = count;
  for (size_t i = 0; i < a->unit_count; i++)
    a->slots[slot_of(a, a->units[i].key)] = (uint32_t)i + 1;
  return true;
}

/* The index of a unit; a new unit is added. */
static enum linnet_status add_unit(struct aligner *a, uint64_t key, uint32_t *index) {
  if (2 * (a->unit_count + 1) > a->slot_count && !grow_slots(a))
    return out_of_memory(a);
  size_t slot = slot_of(a, key);
  if (a->slots[slot] == 0) {
    struct unit *grown =
        linnet_grow(a->data->context, a->units, &a->unit_capacity, a->unit_count + 1, sizeof *a->units);
    if (!grown)
      return out_of_memory(a);
    a->units = grown;
    a->units[a->unit_count++] = (struct unit){.key = key, .probability = 1};
    a->slots[slot] = (uint32_t)a->unit_count;
  }
  *index = a->slots[slot] - 1;
  return LINNET_OK;
}

/* --- the lattice of an entry ------------------------------------------------------------------------------------- */

static size_t node_at(const struct g2p_entry *e, size_t letters, size_t phones) {
  return letters * (e->phones + 1u) + phones;
}

/* Whether a path can pass through the node: a letter has at most two phones. */
static bool on_path(const struct g2p_entry *e, size_t letters, size_t phones) {
  return phones <= letters * G2P_UNIT_PHONES && e->phones - phones <= (e->letters - letters) * G2P_UNIT_PHONES;
}

static uint64_t key_of(const struct aligner *a, const struct g2p_entry *e, size_t i, size_t j,
                       const struct shape *shape) {
  const uint16_t *letters = a->data->pool + e->first, *phones = letters + e->letters;
  uint16_t l[2] = {0}, p[2] = {0};
  for (unsigned k = 0; k < shape->letters; k++)
    l[k] = letters[i - shape->letters + k];
  for (unsigned k = 0; k < shape->phones; k++)
    p[k] = phones[j - shape->phones + k];
  return linnet_g2p_key(l, p);
}

static enum linnet_status reserve(struct aligner *a, const struct g2p_entry *e) {
  struct linnet_context *context = a->data->context;
  size_t nodes = (e->letters + 1u) * (e->phones + 1u);
  void *arcs = linnet_grow(context, a->arcs, &a->arc_capacity, nodes * SHAPE_COUNT, sizeof *a->arcs);
  a->arcs = arcs ? arcs : a->arcs;
  void *alpha = linnet_grow(context, a->alpha, &a->alpha_capacity, nodes, sizeof *a->alpha);
  a->alpha = alpha ? alpha : a->alpha;
  void *beta = linnet_grow(context, a->beta, &a->beta_capacity, nodes, sizeof *a->beta);
  a->beta = beta ? beta : a->beta;
  return arcs && alpha && beta ? LINNET_OK : out_of_memory(a);
}

/* The node where an arc that ends at (i, j) begins; false if this would be outside the array. */
static bool arc_start(const struct g2p_entry *e, size_t i, size_t j, const struct shape *shape) {
  return i >= shape->letters && j >= shape->phones && on_path(e, i - shape->letters, j - shape->phones);
}

static enum linnet_status find_arcs(struct aligner *a, const struct g2p_entry *e) {
  LINNET_TRY(reserve(a, e));
  for (size_t i = 0; i <= e->letters; i++)
    for (size_t j = 0; j <= e->phones; j++)
      for (unsigned s = 0; s < SHAPE_COUNT; s++) {
        uint32_t *arc = &a->arcs[node_at(e, i, j) * SHAPE_COUNT + s];
        *arc = NONE;
        if (on_path(e, i, j) && arc_start(e, i, j, &SHAPES[s]))
          LINNET_TRY(add_unit(a, key_of(a, e, i, j, &SHAPES[s]), arc));
      }
  return LINNET_OK;
}

/* --- expectation ------------------------------------------------------------------------------------------------ */

/* Divides row i by its sum; returns the logarithm of the sum. */
static double scale_row(double *values, const struct g2p_entry *e, size_t i) {
  double sum = 0, *row = values + node_at(e, i, 0);
  for (size_t j = 0; j <= e->phones; j++)
    sum += row[j];
  for (size_t j = 0; j <= e->phones; j++)
    row[j] /= sum;
  return log(sum);
}

/* alpha: the probability of all paths from the beginning to a node. Each row is divided by its sum. An arc of two
 * letters skips a row, so its value must also be divided by the sum of the skipped row. */
static void run_forward(struct aligner *a, const struct g2p_entry *e) {
  memset(a->alpha, 0, (e->letters + 1u) * (e->phones + 1u) * sizeof *a->alpha);
  a->alpha[0] = 1;
  a->alpha_log[0] = 0;
  for (size_t i = 1; i <= e->letters; i++) {
    double two = i > 1 ? exp(a->alpha_log[i - 2] - a->alpha_log[i - 1]) : 0;
    for (size_t j = 0; j <= e->phones; j++)
      for (unsigned s = 0; s < SHAPE_COUNT; s++) {
        uint32_t arc = a->arcs[node_at(e, i, j) * SHAPE_COUNT + s];
        if (arc != NONE)
          a->alpha[node_at(e, i, j)] += a->alpha[node_at(e, i - SHAPES[s].letters, j - SHAPES[s].phones)] *
                                        a->units[arc].probability * (SHAPES[s].letters == 2 ? two : 1);
      }
    a->alpha_log[i] = a->alpha_log[i - 1] + scale_row(a->alpha, e, i);
  }
}

/* beta: the same from a node to the end. Row i is complete when all arcs that begin in it have been processed. */
static void run_backward(struct aligner *a, const struct g2p_entry *e) {
  memset(a->beta, 0, (e->letters + 1u) * (e->phones + 1u) * sizeof *a->beta);
  a->beta[node_at(e, e->letters, e->phones)] = 1;
  a->beta_log[e->letters] = 0;
  for (size_t i = e->letters; i-- > 0;) {
    double two = i + 2 <= e->letters ? exp(a->beta_log[i + 2] - a->beta_log[i + 1]) : 0;
    for (unsigned s = 0; s < SHAPE_COUNT && i + SHAPES[s].letters <= e->letters; s++)
      for (size_t j = 0; j + SHAPES[s].phones <= e->phones; j++) {
        size_t to = node_at(e, i + SHAPES[s].letters, j + SHAPES[s].phones);
        uint32_t arc = a->arcs[to * SHAPE_COUNT + s];
        if (arc != NONE)
          a->beta[node_at(e, i, j)] += a->beta[to] * a->units[arc].probability * (SHAPES[s].letters == 2 ? two : 1);
      }
    a->beta_log[i] = a->beta_log[i + 1] + scale_row(a->beta, e, i);
  }
}

/* Adds the expected count of each unit in the entry. */
static void count_units(struct aligner *a, const struct g2p_entry *e) {
  double whole = a->alpha_log[e->letters] + log(a->alpha[node_at(e, e->letters, e->phones)]);
  for (size_t i = 1; i <= e->letters; i++)
    for (unsigned s = 0; s < SHAPE_COUNT && SHAPES[s].letters <= i; s++) {
      double factor = exp(a->alpha_log[i - SHAPES[s].letters] + a->beta_log[i] - whole);
      for (size_t j = SHAPES[s].phones; j <= e->phones; j++) {
        uint32_t arc = a->arcs[node_at(e, i, j) * SHAPE_COUNT + s];
        if (arc != NONE)
          a->units[arc].expected += a->alpha[node_at(e, i - SHAPES[s].letters, j - SHAPES[s].phones)] *
                                    a->units[arc].probability * a->beta[node_at(e, i, j)] * factor;
      }
    }
}

static bool can_align(const struct g2p_entry *e) {
  return e->phones <= e->letters * G2P_UNIT_PHONES;
}

static void maximise(struct aligner *a) {
  double sum = 0;
  for (size_t u = 0; u < a->unit_count; u++)
    sum += a->units[u].expected;
  for (size_t u = 0; u < a->unit_count; u++) {
    a->units[u].probability = fmax(a->units[u].expected / sum, 1e-12); /* so that no row becomes 0 */
    a->units[u].expected = 0;
  }
}

static enum linnet_status iterate(struct aligner *a) {
  for (size_t n = 0; n < a->data->count; n++) {
    const struct g2p_entry *e = &a->data->entries[n];
    if (!can_align(e))
      continue;
    LINNET_TRY(find_arcs(a, e));
    run_forward(a, e);
    run_backward(a, e);
    count_units(a, e);
  }
  maximise(a);
  return LINNET_OK;
}

/* --- the best path ----------------------------------------------------------------------------------------------- */

/* A unit of two letters or two phones counts twice, because it stands for two steps. Otherwise the most probable path
 * would prefer few long units (as in Novak, Minematsu and Hirose 2016). */
static double weight(const struct aligner *a, uint32_t arc, unsigned shape) {
  bool twice = SHAPES[shape].letters == 2 || SHAPES[shape].phones == 2;
  return log(a->units[arc].probability) * (twice ? 2 : 1);
}

/* Sets alpha to the logarithm of the probability of the best path to a node, and beta to the shape of its last arc. */
static void find_best(struct aligner *a, const struct g2p_entry *e) {
  for (size_t i = 0; i <= e->letters; i++)
    for (size_t j = 0; j <= e->phones; j++) {
      size_t node = node_at(e, i, j);
      a->alpha[node] = node == 0 ? 0 : -INFINITY;
      for (unsigned s = 0; s < SHAPE_COUNT; s++) {
        uint32_t arc = a->arcs[node * SHAPE_COUNT + s];
        if (arc == NONE)
          continue;
        double score = a->alpha[node_at(e, i - SHAPES[s].letters, j - SHAPES[s].phones)] + weight(a, arc, s);
        if (score > a->alpha[node]) {
          a->alpha[node] = score;
          a->beta[node] = s;
        }
      }
    }
}

/* Writes the best path's units and returns their number. */
static size_t trace(const struct aligner *a, const struct g2p_entry *e, uint64_t *units) {
  size_t count = 0;
  for (size_t i = e->letters, j = e->phones; i > 0;) {
    size_t node = node_at(e, i, j);
    unsigned s = (unsigned)a->beta[node];
    units[count++] = a->units[a->arcs[node * SHAPE_COUNT + s]].key;
    i -= SHAPES[s].letters;
    j -= SHAPES[s].phones;
  }
  for (size_t k = 0; k < count / 2; k++) {
    uint64_t swap = units[k];
    units[k] = units[count - 1 - k];
    units[count - 1 - k] = swap;
  }
  return count;
}

static enum linnet_status best_paths(struct aligner *a, struct g2p_alignments *alignments) {
  const struct g2p_data *data = a->data;
  size_t letters = 0;
  for (size_t n = 0; n < data->count; n++)
    letters += data->entries[n].letters;
  alignments->units = linnet_alloc(data->context, letters, sizeof *alignments->units);
  alignments->begin = linnet_alloc(data->context, data->count + 1, sizeof *alignments->begin);
  if (!alignments->units || !alignments->begin)
    return out_of_memory(a);
  size_t count = 0;
  for (size_t n = 0; n < data->count; n++) {
    const struct g2p_entry *e = &data->entries[n];
    alignments->begin[n] = count;
    if (!can_align(e))
      continue;
    LINNET_TRY(find_arcs(a, e));
    find_best(a, e);
    count += trace(a, e, alignments->units + count);
  }
  alignments->begin[data->count] = count;
  return LINNET_OK;
}

enum linnet_status linnet_g2p_align(const struct g2p_data *data, unsigned iterations,
                                    struct g2p_alignments *alignments) {
  struct aligner a = {.data = data};
  enum linnet_status status = LINNET_OK;
  for (unsigned i = 0; i < iterations && status == LINNET_OK; i++)
    status = iterate(&a);
  if (status == LINNET_OK)
    status = best_paths(&a, alignments);
  linnet_free(data->context, a.units);
  linnet_free(data->context, a.slots);
  linnet_free(data->context, a.arcs);
  linnet_free(data->context, a.alpha);
  linnet_free(data->context, a.beta);
  return status;
}

void linnet_g2p_alignments_clear(struct linnet_context *context, struct g2p_alignments *alignments) {
  linnet_free(context, alignments->units);
  linnet_free(context, alignments->begin);
}
