/* Any bytes as lattices in Kaldi's text: read within a budget of memory, finished, searched, written, and read the same
 * again. */
#include <linnet/lattice.h>

#include <math.h>
#include <string.h>

#include "fuzz.h"

enum { PATHS = 5, TEXT_BYTES = 1 << 20 };

static struct linnet_context *context;

struct text {
  char *bytes; /* (TEXT_BYTES) */
  size_t size;
};

static int put(void *user, const char *piece, size_t bytes) {
  struct text *text = user;
  if (bytes > TEXT_BYTES - text->size)
    return 1;
  memcpy(text->bytes + text->size, piece, bytes);
  text->size += bytes;
  return 0;
}

static void check_graph(const struct linnet_lattice *lattice) {
  size_t states, arcs;
  const struct linnet_lattice_state *s = linnet_lattice_states(lattice, &states);
  const struct linnet_lattice_arc *a = linnet_lattice_arcs(lattice, &arcs);
  for (size_t i = 0; i < states; i++) {
    check(s[i].is_final || s[i].num_arcs > 0, "a state that leads nowhere");
    check(!isnan(s[i].forward) && !isnan(s[i].backward), "NaN");
    check(s[i].first_arc + s[i].num_arcs <= arcs, "arcs of a state");
  }
  for (size_t i = 0; i < arcs; i++) {
    double share = linnet_lattice_posterior(lattice, i);
    check(a[i].from < a[i].to && a[i].to < states && a[i].symbol > 0, "an arc");
    check(i == 0 || a[i - 1].from < a[i].from || a[i - 1].symbol < a[i].symbol, "not deterministic");
    check(share >= 0 && share <= 1, "a posterior");
  }
}

/* The best paths, of which the first is a reference that the oracle must find. */
static double check_paths(struct linnet_lattice *lattice) {
  const struct linnet_lattice_path *paths;
  struct linnet_lattice_nearest nearest;
  int reference[64];
  size_t count;
  check(linnet_lattice_nbest(lattice, PATHS, &paths, &count) == LINNET_OK && count > 0, "no path");
  for (size_t i = 1; i < count; i++)
    check(paths[i].score <= paths[i - 1].score + 1e-9 * fabs(paths[0].score) + 1e-9, "paths are not in order");
  double best = paths[0].score;
  size_t length = paths[count - 1].num_segments;
  for (size_t i = 0; i < length && i < 64; i++)
    reference[i] = paths[count - 1].segments[i].symbol;
  if (length <= 64) {
    check(linnet_lattice_oracle(lattice, NULL, reference, length, &nearest) == LINNET_OK, "no oracle");
    check(nearest.num_symbols == length && memcmp(nearest.symbols, reference, length * sizeof *reference) == 0,
          "the oracle of a path is another");
  }
  return best;
}

static void read_again(const struct text *text, double best) {
  struct linnet_lattice_reader *reader = NULL;
  struct linnet_lattice *lattice = NULL;
  const char *id;
  check(linnet_lattice_create(context, &lattice) == LINNET_OK, "no lattice");
  check(linnet_lattice_reader_open_memory(context, text->bytes, text->size, "FILE", NULL, &reader) == LINNET_OK &&
            linnet_lattice_reader_next(reader, &id, lattice) == LINNET_OK &&
            linnet_lattice_finish(lattice, NULL) == LINNET_OK,
        linnet_context_error(context));
  if (fabs(best) < 1e6)
    check(fabs(check_paths(lattice) - best) < 1e-2, "what was read is another");
  linnet_lattice_reader_destroy(reader);
  linnet_lattice_destroy(lattice);
}

static void use(struct linnet_lattice *lattice, const char *id) {
  struct text text = {malloc(TEXT_BYTES), 0};
  size_t states;
  enum linnet_status status = linnet_lattice_finish(lattice, NULL);
  check(status == LINNET_OK || status == LINNET_ERROR_ARGUMENT || status == LINNET_ERROR_LIMIT, "another status");
  linnet_lattice_states(lattice, &states);
  if (status == LINNET_OK && states > 0 && text.bytes) {
    check_graph(lattice);
    double best = check_paths(lattice);
    if (linnet_lattice_write(lattice, linnet_lattice_format_find("kaldi"), id, NULL, put, &text) == LINNET_OK)
      read_again(&text, best);
  }
  free(text.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!context)
    context = budget_context();
  check(context != NULL, "no context");
  size_t before = budget.live;
  struct linnet_lattice_reader *reader = NULL;
  struct linnet_lattice *lattice = NULL;
  const char *id;
  budget.limit = before + 1024 * size + (1 << 20);
  check(linnet_lattice_create(context, &lattice) == LINNET_OK, "no lattice");
  enum linnet_status status = linnet_lattice_reader_open_memory(context, data, size, "FILE", NULL, &reader);
  while (status == LINNET_OK && (status = linnet_lattice_reader_next(reader, &id, lattice)) == LINNET_OK) {
    check(!budget.exceeded, "asked for more memory than such a file deserves");
    budget.limit = before + 65536 * size + (1 << 26); /* a deterministic graph may be larger */
    use(lattice, id);
  }
  check(!budget.exceeded, "asked for more memory than such a lattice deserves");
  check(status == LINNET_END || strstr(linnet_context_error(context), "FILE") != NULL,
        "a message that does not name the file");
  budget.limit = 0;
  linnet_lattice_reader_destroy(reader);
  linnet_lattice_destroy(lattice);
  check(budget.live == before, "memory was not released");
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  (void)seed;
  return LLVMFuzzerMutate(data, size, capacity);
}
