/* Lattices compared with a list of all their paths: symbol sequences with their best scores, the number of states of
 * the smallest deterministic graph, sums, the oracle; every added path is found; files, good and damaged. */
#include <linnet/lattice.h>

#include "allocators.h"
#include "unit/decoder/ctc/beam_cases.h"

enum { MAX_LENGTH = 12, MAX_STRINGS = 4096 };

/* A sequence of symbols and its best score. */
struct string {
  int symbols[MAX_LENGTH];
  size_t length;
  double score, acoustic;
};

struct strings {
  struct string items[MAX_STRINGS];
  size_t count;
};

static int compare_symbols(const struct string *a, const struct string *b) {
  for (size_t i = 0; i < a->length && i < b->length; i++)
    if (a->symbols[i] != b->symbols[i])
      return a->symbols[i] < b->symbols[i] ? -1 : 1;
  return a->length < b->length ? -1 : a->length > b->length;
}

static struct string *find_string(struct strings *strings, const struct string *wanted) {
  for (size_t i = 0; i < strings->count; i++)
    if (compare_symbols(&strings->items[i], wanted) == 0)
      return &strings->items[i];
  return NULL;
}

static void offer(struct strings *strings, const struct string *string) {
  struct string *found = find_string(strings, string);
  if (!found) {
    REQUIRE(strings->count < MAX_STRINGS, "too many strings for the test");
    strings->items[strings->count++] = *string;
  } else if (string->score > found->score) {
    *found = *string;
  }
}

static int by_score(const void *a, const void *b) {
  const struct string *x = a, *y = b;
  return x->score > y->score ? -1 : x->score < y->score ? 1 : compare_symbols(x, y);
}

/* --- random graphs ------------------------------------------------------------------------------------------------ */

/* As it was given to the lattice. */
struct graph {
  size_t states, arcs;
  struct linnet_lattice_arc arc[64];
  bool final[16];
  double end[16]; /* acoustic score of ending */
};

/* Arcs from lower to higher states; then all states except the start get random numbers. Some arcs have no symbol. */
static void fill_graph(struct test_random *r, struct graph *g, bool scored) {
  size_t name[16];
  g->states = 2 + test_below(r, 7);
  g->arcs = 1 + test_below(r, 3 * g->states);
  for (size_t i = 0; i < g->states; i++) {
    size_t j = i == 0 ? 0 : 1 + test_below(r, i);
    name[i] = name[j];
    name[j] = i;
    g->final[i] = test_below(r, 4) == 0;
    g->end[i] = scored ? test_uniform(r) : 0;
  }
  for (size_t i = 0; i < g->arcs; i++) {
    size_t from = test_below(r, g->states - 1), to = from + 1 + test_below(r, g->states - from - 1);
    double acoustic = scored ? 3 * test_uniform(r) : 0, language = scored ? test_uniform(r) : 0;
    g->arc[i] = (struct linnet_lattice_arc){name[from], name[to], (int)test_below(r, 4), acoustic, language};
  }
}

static void build(const struct graph *g, struct linnet_lattice *lattice) {
  linnet_lattice_reset(lattice);
  for (size_t i = 0; i < g->states; i++)
    REQUIRE(linnet_lattice_add_state(lattice, i, NULL) == LINNET_OK, "state");
  for (size_t i = 0; i < g->arcs; i++) {
    const struct linnet_lattice_arc *a = &g->arc[i];
    REQUIRE(linnet_lattice_add_arc(lattice, a->from, a->to, a->symbol, a->acoustic, a->language) == LINNET_OK, "arc");
  }
  for (size_t i = 0; i < g->states; i++)
    if (g->final[i])
      REQUIRE(linnet_lattice_add_final(lattice, i, g->end[i], 0) == LINNET_OK, "final");
}

static void enumerate(const struct graph *g, size_t state, struct string path, struct strings *strings) {
  if (g->final[state]) {
    struct string end = path;
    end.score += g->end[state];
    end.acoustic += g->end[state];
    offer(strings, &end);
  }
  for (size_t i = 0; i < g->arcs; i++) {
    if (g->arc[i].from != state)
      continue;
    struct string next = path;
    if (g->arc[i].symbol > 0)
      next.symbols[next.length++] = g->arc[i].symbol;
    next.score += g->arc[i].acoustic + g->arc[i].language;
    next.acoustic += g->arc[i].acoustic;
    enumerate(g, g->arc[i].to, next, strings);
  }
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

static struct string string_of(const struct linnet_lattice_path *path) {
  struct string string = {.length = path->num_segments, .score = path->score, .acoustic = path->acoustic};
  for (size_t i = 0; i < path->num_segments && i < MAX_LENGTH; i++)
    string.symbols[i] = path->segments[i].symbol;
  return string;
}

/* All paths of the lattice, best first, are the strings, whose scores differ by at most `bound`. */
static void check_paths(struct linnet_lattice *lattice, struct strings *strings, double bound, const char *what) {
  const struct linnet_lattice_path *paths = NULL;
  size_t count = 0;
  REQUIRE(linnet_lattice_nbest(lattice, SIZE_MAX, &paths, &count) == LINNET_OK, "%s: nbest", what);
  CHECK(count == strings->count, "%s: %zu paths, expected %zu", what, count, strings->count);
  for (size_t i = 0; i < count; i++) {
    struct string string = string_of(&paths[i]), *found = find_string(strings, &string);
    CHECK(i == 0 || paths[i].score <= paths[i - 1].score + 1e-9, "%s: path %zu is better than the last", what, i);
    CHECK(found != NULL, "%s: a path that did not go in", what);
    if (found)
      CHECK(fabs(found->score - string.score) <= bound + 1e-9 &&
                fabs(found->acoustic - string.acoustic) <= bound + 1e-9,
            "%s: score %.9g, expected %.9g", what, string.score, found->score);
  }
}

/* The number of states of the smallest deterministic graph of these strings: of different sets of endings. */
static size_t count_futures(const struct strings *strings) {
  static struct strings futures[256];
  size_t count = 0;
  for (size_t i = 0; i < strings->count; i++)
    for (size_t length = 0; length <= strings->items[i].length; length++) {
      struct strings *f = &futures[count];
      f->count = 0;
      for (size_t j = 0; j < strings->count; j++) {
        const struct string *s = &strings->items[j];
        if (s->length < length || memcmp(s->symbols, strings->items[i].symbols, length * sizeof(int)) != 0)
          continue;
        struct string end = {.length = s->length - length};
        memcpy(end.symbols, s->symbols + length, end.length * sizeof(int));
        offer(f, &end);
      }
      qsort(f->items, f->count, sizeof *f->items, by_score);
      bool known = false;
      for (size_t k = 0; k < count && !known; k++) {
        known = futures[k].count == f->count;
        for (size_t m = 0; m < f->count && known; m++)
          known = compare_symbols(&futures[k].items[m], &f->items[m]) == 0;
      }
      REQUIRE(known || count + 1 < 256, "too many states for the test");
      count += !known;
    }
  return count;
}

static void check_order(const struct linnet_lattice *lattice) {
  size_t states, arcs, expected = 0;
  const struct linnet_lattice_state *s = linnet_lattice_states(lattice, &states);
  const struct linnet_lattice_arc *a = linnet_lattice_arcs(lattice, &arcs);
  for (size_t i = 0; i < states; i++) {
    CHECK(s[i].first_arc == expected && (s[i].num_arcs > 0 || s[i].is_final), "state %zu", i);
    expected += s[i].num_arcs;
  }
  CHECK(expected == arcs, "%zu arcs of states, %zu in all", expected, arcs);
  for (size_t i = 0; i < arcs; i++) {
    CHECK(a[i].from < a[i].to && a[i].symbol > 0, "arc %zu from %zu to %zu by %d", i, a[i].from, a[i].to, a[i].symbol);
    CHECK(i == 0 || a[i].from > a[i - 1].from || a[i].symbol > a[i - 1].symbol, "arc %zu is not deterministic", i);
  }
}

/* The sum over all strings, and the share of each arc by walking them. */
static void check_sums(const struct linnet_lattice *lattice, const struct strings *strings) {
  size_t states, arcs;
  const struct linnet_lattice_state *s = linnet_lattice_states(lattice, &states);
  const struct linnet_lattice_arc *a = linnet_lattice_arcs(lattice, &arcs);
  double total = 0, share[256] = {0};
  for (size_t i = 0; i < strings->count; i++) {
    double p = exp(strings->items[i].score);
    total += p;
    for (size_t k = 0, at = 0; k < strings->items[i].length; k++) {
      size_t arc = s[at].first_arc;
      while (a[arc].symbol != strings->items[i].symbols[k])
        arc++;
      share[arc] += p;
      at = a[arc].to;
    }
  }
  CHECK(strings->count == 0 || fabs(s[0].backward - log(total)) <= 1e-9, "sum %g, expected %g", s[0].backward,
        log(total));
  for (size_t i = 0; i < arcs; i++)
    CHECK(fabs(linnet_lattice_posterior(lattice, i) - share[i] / total) <= 1e-9, "arc %zu: posterior %g, expected %g",
          i, linnet_lattice_posterior(lattice, i), share[i] / total);
}

/* Levenshtein. Labels: see below. */
static size_t distance(const int *a, size_t n, const int *b, size_t m, const int *labels) {
  size_t row[MAX_LENGTH + 1];
  for (size_t j = 0; j <= m; j++)
    row[j] = j;
  for (size_t i = 0; i < n; i++) {
    int label = labels ? labels[a[i]] : a[i];
    if (label == 0)
      continue;
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= m; j++) {
      size_t pair = diagonal + (label != b[j - 1]), one = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
      diagonal = row[j];
      row[j] = pair < one ? pair : one;
    }
  }
  return row[m];
}

static void check_oracle(struct test_random *r, struct linnet_lattice *lattice, struct strings *strings,
                         const int *labels) {
  int reference[MAX_LENGTH];
  size_t count = test_below(r, 7), minimum = SIZE_MAX;
  for (size_t i = 0; i < count; i++)
    reference[i] = 1 + (int)test_below(r, 3);
  for (size_t i = 0; i < strings->count; i++) {
    size_t d = distance(strings->items[i].symbols, strings->items[i].length, reference, count, labels);
    minimum = d < minimum ? d : minimum;
  }
  struct linnet_lattice_nearest nearest;
  REQUIRE(linnet_lattice_oracle(lattice, labels, reference, count, &nearest) == LINNET_OK, "oracle");
  const struct linnet_score *s = &nearest.score;
  size_t errors = s->num_substitutions + s->num_insertions + s->num_deletions;
  CHECK(errors == minimum && s->num_reference == count, "oracle %zu errors, expected %zu", errors, minimum);
  struct string path = {.length = nearest.num_symbols};
  memcpy(path.symbols, nearest.symbols, nearest.num_symbols * sizeof(int));
  CHECK(find_string(strings, &path) != NULL, "the oracle's path is not in the lattice");
  CHECK(distance(path.symbols, path.length, reference, count, labels) == minimum,
        "the oracle's path differs from the reported path");
}

static void test_random_graphs(void) {
  static struct strings strings;
  static const int labels[4] = {0, 2, 2, 0};
  struct linnet_context *context = test_context();
  struct linnet_lattice *lattice = NULL;
  struct linnet_lattice_settings settings;
  REQUIRE(linnet_lattice_create(context, &lattice) == LINNET_OK, "create");
  linnet_lattice_settings_default(&settings);
  for (uint64_t seed = 0; seed < 2000; seed++) {
    struct test_random r = {seed};
    struct graph g;
    char what[32];
    snprintf(what, sizeof what, "seed %d", (int)seed);
    fill_graph(&r, &g, seed % 2);
    strings.count = 0;
    enumerate(&g, 0, (struct string){.length = 0}, &strings);
    settings.tolerance = seed % 8 == 7 ? 1.5 : 1e-6;
    build(&g, lattice);
    REQUIRE(linnet_lattice_finish(lattice, &settings) == LINNET_OK, "%s: %s", what, linnet_context_error(context));
    check_order(lattice);
    check_paths(lattice, &strings, settings.tolerance, what);
    size_t states, smallest = count_futures(&strings);
    linnet_lattice_states(lattice, &states);
    CHECK(seed % 2 || states == smallest, "%s: %zu states, expected %zu", what, states, smallest);
    if (settings.tolerance < 1)
      check_sums(lattice, &strings);
    if (strings.count > 0)
      check_oracle(&r, lattice, &strings, seed % 3 ? NULL : labels);
  }
  linnet_lattice_destroy(lattice);
  linnet_context_destroy(context);
}

/* --- examples ----------------------------------------------------------------------------------------------------- */

/* "1 2 4", "1 3 4", "2 4": equal endings, whose scores are moved until they agree. */
static void test_sharing(void) {
  struct linnet_context *context = test_context();
  struct linnet_lattice *lattice = NULL;
  REQUIRE(linnet_lattice_create(context, &lattice) == LINNET_OK, "create");
  const struct linnet_segment a[] = {{1, 0, 2, 1}, {2, 3, 5, 1}, {4, 6, 9, 1}};
  const struct linnet_segment b[] = {{1, 0, 3, 1}, {3, 4, 6, 1}, {4, 7, 9, 1}}, c[] = {{2, 0, 3, 1}, {4, 5, 8, 1}};
  CHECK(linnet_lattice_add_path(lattice, a, 3, -1, -0.5) == LINNET_OK, "a");
  CHECK(linnet_lattice_add_path(lattice, b, 3, -2, -0.25) == LINNET_OK, "b");
  CHECK(linnet_lattice_add_path(lattice, c, 2, -4, -0.125) == LINNET_OK, "c");
  REQUIRE(linnet_lattice_finish(lattice, NULL) == LINNET_OK, "finish");
  size_t states, arcs;
  const struct linnet_lattice_state *s = linnet_lattice_states(lattice, &states);
  linnet_lattice_arcs(lattice, &arcs);
  CHECK(states == 4 && arcs == 5, "%zu states and %zu arcs", states, arcs);
  CHECK(s[1].frame == 2 && s[states - 1].frame == 9, "frames %zu and %zu: not of the best path", s[1].frame,
        s[states - 1].frame);
  CHECK(fabs(s[0].best_backward + 1.5) <= 1e-12, "best %g", s[0].best_backward);
  CHECK(linnet_lattice_add_state(lattice, 0, NULL) == LINNET_ERROR_STATE, "filled after the end");
  linnet_lattice_destroy(lattice);
  linnet_context_destroy(context);
}

static int write_nothing(void *user, const char *text, size_t bytes) {
  (void)user, (void)text, (void)bytes;
  return 0;
}

static void test_refusals(void) {
  struct linnet_context *context = test_context();
  struct linnet_lattice *lattice = NULL;
  struct linnet_lattice_nearest nearest;
  REQUIRE(linnet_lattice_create(context, &lattice) == LINNET_OK, "create");
  linnet_lattice_add_state(lattice, 0, NULL);
  linnet_lattice_add_state(lattice, 1, NULL);
  CHECK(linnet_lattice_add_arc(lattice, 0, 2, 1, 0, 0) == LINNET_ERROR_ARGUMENT, "no such state");
  CHECK(linnet_lattice_add_arc(lattice, 0, 1, -1, 0, 0) == LINNET_ERROR_ARGUMENT, "no such symbol");
  CHECK(linnet_lattice_add_arc(lattice, 0, 1, 1, NAN, 0) == LINNET_ERROR_ARGUMENT, "NaN");
  CHECK(linnet_lattice_add_arc(lattice, 0, 1, 1, 0, -INFINITY) == LINNET_ERROR_ARGUMENT, "infinity");
  CHECK(linnet_lattice_oracle(lattice, NULL, NULL, 0, &nearest) == LINNET_ERROR_STATE, "oracle before the end");
  linnet_lattice_add_arc(lattice, 0, 1, 1, 0, 0);
  linnet_lattice_add_arc(lattice, 1, 0, 0, 0, 0);
  linnet_lattice_add_final(lattice, 1, 0, 0);
  CHECK(linnet_lattice_finish(lattice, NULL) == LINNET_ERROR_ARGUMENT, "a cycle");
  const struct linnet_lattice_path *paths;
  size_t count;
  CHECK(linnet_lattice_nbest(lattice, 1, &paths, &count) == LINNET_ERROR_STATE, "paths after a failure");
  CHECK(linnet_lattice_oracle(lattice, NULL, NULL, 0, &nearest) == LINNET_ERROR_STATE, "oracle after a failure");
  CHECK(linnet_lattice_write(lattice, linnet_lattice_format_find("kaldi"), "u", NULL, write_nothing, NULL) ==
                LINNET_ERROR_STATE &&
            strstr(linnet_context_error(context), "linnet_lattice_finish has failed"),
        "written after a failure: %s", linnet_context_error(context));
  linnet_lattice_reset(lattice);
  CHECK(linnet_lattice_finish(lattice, NULL) == LINNET_OK, "an empty lattice");
  CHECK(linnet_lattice_oracle(lattice, NULL, NULL, 0, &nearest) == LINNET_ERROR_ARGUMENT, "oracle of nothing");
  linnet_lattice_destroy(lattice);
  linnet_context_destroy(context);
}

/* --- from a beam -------------------------------------------------------------------------------------------------- */

static void test_beam(void) {
  enum { FRAMES = 12, SYMBOLS = 4, BEAM = 40 };
  static struct strings strings;
  struct linnet_context *context = test_context();
  struct linnet_beam_settings settings;
  struct linnet_beam *beam = NULL;
  struct linnet_lattice *lattice = NULL;
  float rows[FRAMES * SYMBOLS];
  linnet_beam_settings_default(&settings);
  settings.beam = BEAM;
  settings.insertion_bonus = 0.5f;
  REQUIRE(linnet_beam_create(context, SYMBOLS, &settings, &beam) == LINNET_OK, "beam");
  REQUIRE(linnet_lattice_create(context, &lattice) == LINNET_OK, "lattice");
  for (uint64_t seed = 0; seed < 50; seed++) {
    struct test_random r = {seed};
    fill_posteriors(&r, rows, FRAMES, SYMBOLS, 4);
    linnet_beam_reset(beam);
    linnet_lattice_reset(lattice);
    REQUIRE(linnet_beam_accept(beam, rows, FRAMES) == LINNET_OK && linnet_beam_finish(beam) == LINNET_OK, "search");
    REQUIRE(linnet_lattice_add_beam(lattice, beam) == LINNET_OK && linnet_lattice_finish(lattice, NULL) == LINNET_OK,
            "lattice of a beam");
    strings.count = linnet_beam_num_hypotheses(beam);
    for (size_t i = 0; i < strings.count; i++) {
      struct linnet_hypothesis h;
      struct string *s = &strings.items[i];
      linnet_beam_hypothesis(beam, i, &h);
      *s = (struct string){.length = h.num_segments, .score = h.score, .acoustic = h.acoustic};
      for (size_t k = 0; k < h.num_segments; k++)
        s->symbols[k] = h.segments[k].symbol;
    }
    check_order(lattice);
    check_paths(lattice, &strings, 1e-6, "beam");
  }
  linnet_lattice_destroy(lattice);
  linnet_beam_destroy(beam);
  linnet_context_destroy(context);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

struct text {
  char bytes[1 << 16];
  size_t size;
};

static int write_text(void *user, const char *piece, size_t bytes) {
  struct text *text = user;
  if (text->size + bytes >= sizeof text->bytes)
    return 1;
  memcpy(text->bytes + text->size, piece, bytes);
  text->size += bytes;
  text->bytes[text->size] = '\0';
  return 0;
}

static enum linnet_status read_one(struct linnet_context *context, const char *text, size_t size,
                                   struct linnet_symbols *symbols, struct linnet_lattice *lattice) {
  struct linnet_lattice_reader *reader = NULL;
  const char *id;
  enum linnet_status status = linnet_lattice_reader_open_memory(context, text, size, "lat", symbols, &reader);
  if (status == LINNET_OK)
    status = linnet_lattice_reader_next(reader, &id, lattice);
  if (status == LINNET_OK)
    status = linnet_lattice_finish(lattice, NULL);
  linnet_lattice_reader_destroy(reader);
  return status;
}

static void test_round_trip(void) {
  static struct strings strings;
  static struct text text;
  static const char *const names[] = {"<eps>", "A", "B \"\\", "C"};
  struct linnet_context *context = test_context();
  struct linnet_lattice *lattice = NULL;
  REQUIRE(linnet_lattice_create(context, &lattice) == LINNET_OK, "create");
  for (uint64_t seed = 0; seed < 100; seed++) {
    struct test_random r = {seed};
    struct graph g;
    fill_graph(&r, &g, true);
    strings.count = text.size = 0;
    enumerate(&g, 0, (struct string){.length = 0}, &strings);
    build(&g, lattice);
    REQUIRE(linnet_lattice_finish(lattice, NULL) == LINNET_OK, "finish");
    REQUIRE(linnet_lattice_write(lattice, linnet_lattice_format_find("kaldi"), "u", NULL, write_text, &text) ==
                LINNET_OK,
            "write");
    REQUIRE(read_one(context, text.bytes, text.size, NULL, lattice) == LINNET_OK, "read: %s",
            linnet_context_error(context));
    check_paths(lattice, &strings, 1e-5, "round trip");
    text.size = 0;
    CHECK(linnet_lattice_write(lattice, linnet_lattice_format_find("dot"), "u\"", names, write_text, &text) ==
              LINNET_OK,
          "dot");
    CHECK(strncmp(text.bytes, "digraph \"u\\\"\" {", 15) == 0 && strcmp(text.bytes + text.size - 2, "}\n") == 0, "dot");
  }
  CHECK(!linnet_lattice_format_find("htk") && !linnet_lattice_format_at(2), "a format too many");
  linnet_lattice_destroy(lattice);
  linnet_context_destroy(context);
}

/* Costs beyond those of fixed point keep their signs. */
static void test_large_costs(void) {
  static struct text text;
  struct linnet_context *context = test_context();
  struct linnet_lattice *lattice = NULL;
  size_t count;
  text.size = 0;
  REQUIRE(linnet_lattice_create(context, &lattice) == LINNET_OK &&
              linnet_lattice_add_state(lattice, 0, NULL) == LINNET_OK &&
              linnet_lattice_add_state(lattice, 1, NULL) == LINNET_OK &&
              linnet_lattice_add_arc(lattice, 0, 1, 3, -2e9, 3e9) == LINNET_OK &&
              linnet_lattice_add_final(lattice, 1, 0, 0) == LINNET_OK &&
              linnet_lattice_finish(lattice, NULL) == LINNET_OK &&
              linnet_lattice_write(lattice, linnet_lattice_format_find("kaldi"), "u", NULL, write_text, &text) ==
                  LINNET_OK,
          "%s", linnet_context_error(context));
  REQUIRE(read_one(context, text.bytes, text.size, NULL, lattice) == LINNET_OK, "read: %s",
          linnet_context_error(context));
  const struct linnet_lattice_arc *arcs = linnet_lattice_arcs(lattice, &count);
  CHECK(count == 1 && arcs[0].acoustic == -2e9 && arcs[0].language == 3e9, "%zu arcs: %s", count, text.bytes);
  linnet_lattice_destroy(lattice);
  linnet_context_destroy(context);
}

static void test_kaldi_forms(void) {
  struct linnet_context *context = test_context();
  struct linnet_lattice *lattice = NULL;
  struct linnet_symbols *symbols = NULL;
  const struct linnet_lattice_path *paths;
  size_t count;
  REQUIRE(linnet_lattice_create(context, &lattice) == LINNET_OK, "create");
  REQUIRE(linnet_symbols_create(context, NULL, 0, &symbols) == LINNET_OK, "symbols");
  /* Compact, with alignments and an arc without a word; names; numbers of states that are no order and have gaps. */
  static const char compact[] =
      "u \r\n7 900000000 one 1.5,2,1_1_2\n900000000 3 <eps> 0.5,0,\n7 3 two\n3\n7 Infinity,0,\n";
  REQUIRE(read_one(context, compact, sizeof compact - 1, symbols, lattice) == LINNET_OK, "compact: %s",
          linnet_context_error(context));
  REQUIRE(linnet_lattice_nbest(lattice, 9, &paths, &count) == LINNET_OK && count == 2, "%zu paths", count);
  CHECK(paths[0].score == 0 && strcmp(linnet_symbols_name(symbols, paths[0].segments[0].symbol), "two") == 0, "best");
  CHECK(paths[1].acoustic == -2 && paths[1].language == -2, "%g %g", paths[1].acoustic, paths[1].language);
  /* Not compact: input symbols are skipped. */
  static const char plain[] = "u\n0 1 17 4 1,2\n0 1 17 5\n1 0.25,0\n\n";
  REQUIRE(read_one(context, plain, sizeof plain - 1, NULL, lattice) == LINNET_OK, "plain: %s",
          linnet_context_error(context));
  REQUIRE(linnet_lattice_nbest(lattice, 9, &paths, &count) == LINNET_OK && count == 2, "%zu paths", count);
  CHECK(paths[0].segments[0].symbol == 5 && paths[1].segments[0].symbol == 4 && paths[1].score == -3.25, "%g",
        paths[1].score);
  static const char *const bad[] = {"u 0\n",
                                    "u\nx\n",
                                    "u\n0 -1 1\n",
                                    "u\n0 1 x\n",
                                    "u\n0 1 99999999999\n",
                                    "u\n0 1 1 1,nan,\n",
                                    "u\n0 1 1 ,\n",
                                    "u\n0 1 1 1;2 x\n",
                                    "u\n0 1 2 3 4,5 6\n",
                                    "u\n0 inf,0,\n",
                                    "u\n0 1 1 1,Infinity,\n",
                                    "u\n0 1 1 1,2,\nv\n0 1 2\n",
                                    "u\n0 1 1 1,1,\n1 2 2 1,1,\n",
                                    "u\n0 1 1 1,1,\n1 Infinity,0,\n\n"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    enum linnet_status status = read_one(context, bad[i], strlen(bad[i]), NULL, lattice);
    CHECK(status == LINNET_ERROR_FORMAT && strncmp(linnet_context_error(context), "lat:", 4) == 0, "%s: status %d: %s",
          bad[i], (int)status, linnet_context_error(context));
  }
  CHECK(strcmp(linnet_context_error(context), "lat:4: the lattice of 'u' has no final state: the file is incomplete; "
                                              "write it again") == 0,
        "%s", linnet_context_error(context));
  CHECK(read_one(context, "u\n0 1 1\n1 0 2\n1\n", 16, NULL, lattice) == LINNET_ERROR_ARGUMENT, "a cycle");
  CHECK(read_one(context, "u\n\n", 3, NULL, lattice) == LINNET_OK, "an empty lattice");
  CHECK(read_one(context, "u\n0 Infinity,0,\n\n", 17, NULL, lattice) == LINNET_OK, "a state that is not final");
  CHECK(read_one(context, "\n\n", 2, NULL, lattice) == LINNET_END, "nothing");
  CHECK(read_one(context, NULL, 0, NULL, lattice) == LINNET_END, "no bytes");
  linnet_symbols_destroy(symbols);
  linnet_lattice_destroy(lattice);
  linnet_context_destroy(context);
}

/* A ladder of 40 rungs has 2^40 paths; one without symbols on it has one. Both stay small. */
static void test_many_paths(void) {
  struct linnet_context *context = test_context();
  struct linnet_lattice *lattice = NULL;
  const struct linnet_lattice_path *paths;
  struct linnet_lattice_nearest nearest;
  int reference[40];
  size_t count, states;
  REQUIRE(linnet_lattice_create(context, &lattice) == LINNET_OK, "create");
  for (int empty = 0; empty < 2; empty++) {
    linnet_lattice_reset(lattice);
    linnet_lattice_add_state(lattice, 0, NULL);
    for (size_t i = 0; i < 40; i++) {
      reference[i] = 2;
      linnet_lattice_add_state(lattice, i + 1, NULL);
      linnet_lattice_add_arc(lattice, i, i + 1, empty ? 0 : 1, -1, 0);
      linnet_lattice_add_arc(lattice, i, i + 1, empty ? 0 : 2, -1 - 0x1p-10 * (double)i, 0);
    }
    linnet_lattice_add_final(lattice, 40, 0, 0);
    REQUIRE(linnet_lattice_finish(lattice, NULL) == LINNET_OK, "finish: %s", linnet_context_error(context));
    linnet_lattice_states(lattice, &states);
    CHECK(states == (empty ? 1 : 41), "%zu states", states);
    REQUIRE(linnet_lattice_nbest(lattice, 5, &paths, &count) == LINNET_OK, "nbest");
    CHECK(count == (empty ? 1 : 5) && paths[0].score == -40, "%zu paths, the best %g", count, paths[0].score);
    REQUIRE(linnet_lattice_oracle(lattice, NULL, reference, 40, &nearest) == LINNET_OK, "oracle");
    CHECK(nearest.score.num_deletions == (empty ? 40u : 0u), "%zu deletions", nearest.score.num_deletions);
  }
  linnet_lattice_destroy(lattice);
  linnet_context_destroy(context);
}

/* --- torture ------------------------------------------------------------------------------------------------------ */

static enum linnet_status scenario(struct linnet_context *context) {
  static const char text[] = "u\n0 1 1 1,2,\n0 2 1 1,1,\n1 3 0 0,0,\n2 3 2\n3 4 5\n3\n4 1,1,\n";
  struct linnet_lattice *lattice = NULL;
  const struct linnet_lattice_path *paths;
  struct linnet_lattice_nearest nearest;
  static struct text out;
  size_t count;
  const int reference[] = {1, 5};
  enum linnet_status status = linnet_lattice_create(context, &lattice);
  if (status == LINNET_OK)
    status = read_one(context, text, sizeof text - 1, NULL, lattice);
  if (status == LINNET_OK)
    status = linnet_lattice_nbest(lattice, 9, &paths, &count);
  if (status == LINNET_OK)
    status = linnet_lattice_oracle(lattice, NULL, reference, 2, &nearest);
  out.size = 0;
  if (status == LINNET_OK)
    status = linnet_lattice_write(lattice, linnet_lattice_format_find("kaldi"), "u", NULL, write_text, &out);
  linnet_lattice_destroy(lattice);
  return status;
}

int main(void) {
  test_random_graphs();
  test_sharing();
  test_refusals();
  test_beam();
  test_round_trip();
  test_large_costs();
  test_kaldi_forms();
  test_many_paths();
  torture("lattice", scenario);
  return test_result();
}
