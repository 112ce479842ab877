/* n-gram models against KenLM: probabilities of sentences, and the estimate of a text (make_ngram.py). */
#include <linnet/ngram.h>

#include "test.h"

enum { MAX_WORDS = 64 };

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  REQUIRE(file, "cannot open %s", path);
  static char text[1 << 20];
  size_t bytes = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  REQUIRE(bytes > 0 && bytes < sizeof text - 1, "%s: %zu bytes", path, bytes);
  text[bytes] = '\0';
  return text;
}

static size_t split(char *text, const char *separator, char **parts, size_t max_parts) {
  size_t count = 0;
  char *rest = NULL;
  for (char *part = strtok_r(text, separator, &rest); part && count < max_parts;
       part = strtok_r(NULL, separator, &rest))
    parts[count++] = part;
  return count;
}

static struct linnet_ngram *load(struct linnet_context *context, const char *name) {
  struct linnet_ngram *ngram = NULL;
  REQUIRE(linnet_ngram_load(context, test_source(name), &ngram) == LINNET_OK, "%s", linnet_context_error(context));
  return ngram;
}

/* The largest difference in log10 between the scores of a sentence and those expected. */
static double sentence_error(const struct linnet_ngram *ngram, char *words_text, char *scores_text) {
  char *words[MAX_WORDS], *scores[MAX_WORDS];
  size_t count = split(words_text, " ", words, MAX_WORDS), expected = split(scores_text, " ", scores, MAX_WORDS);
  REQUIRE(expected == count + 1, "%zu words, %zu scores", count, expected);
  uint32_t state = linnet_ngram_begin(ngram);
  double error = 0;
  for (size_t i = 0; i <= count; i++) {
    double value = i < count ? linnet_ngram_score(ngram, &state, linnet_ngram_find(ngram, words[i]))
                             : linnet_ngram_finish(ngram, state);
    error = fmax(error, fabs(value / log(10) - atof(scores[i])));
  }
  return error;
}

/* Lines "MODEL\tWORDS\tSCORES" of the model at hand. */
static void check_scores(const struct linnet_ngram *ngram, const char *model, double bound) {
  char *text = read_file(test_source("tests/golden/ngram_scores.tsv"));
  double error = 0;
  size_t sentences = 0;
  for (char *line = text, *end; *line; line = end + 1) {
    end = strchr(line, '\n');
    *end = '\0';
    char *words = strchr(line, '\t'), *scores = words ? strchr(words + 1, '\t') : NULL;
    REQUIRE(scores, "a line without three fields");
    *words++ = *scores++ = '\0';
    if (strcmp(line, model) != 0)
      continue;
    error = fmax(error, sentence_error(ngram, words, scores));
    sentences++;
  }
  CHECK(sentences > 100 && error < bound, "%s: %zu sentences, error %g, bound %g", model, sentences, error, bound);
  printf("%s, %s: %zu sentences, largest difference %.2g in log10\n", model,
         linnet_ngram_is_quantized(ngram) ? "8 bits" : "32 bits", sentences, error);
}

/* Unchanged, through the binary form, quantized, and both. */
static void test_scores(struct linnet_context *context, const char *model) {
  static const char binary[] = TEST_BINARY_DIR "/test_ngram_golden.bin";
  char name[128];
  snprintf(name, sizeof name, "tests/golden/ngram_%s.arpa.gz", model);
  struct linnet_ngram *ngram = load(context, name), *mapped = NULL, *quantized = NULL;
  check_scores(ngram, model, 2e-5);
  REQUIRE(linnet_ngram_save_binary(context, ngram, binary) == LINNET_OK, "save");
  REQUIRE(linnet_ngram_load(context, binary, &mapped) == LINNET_OK, "%s", linnet_context_error(context));
  check_scores(mapped, model, 2e-5);
  REQUIRE(linnet_ngram_quantize(context, mapped, &quantized) == LINNET_OK, "quantize");
  check_scores(quantized, model, 0.05);
  linnet_ngram_destroy(mapped);
  REQUIRE(linnet_ngram_save_binary(context, quantized, binary) == LINNET_OK, "save");
  REQUIRE(linnet_ngram_load(context, binary, &mapped) == LINNET_OK, "%s", linnet_context_error(context));
  check_scores(mapped, model, 0.05);
  linnet_ngram_destroy(mapped);
  linnet_ngram_destroy(quantized);
  linnet_ngram_destroy(ngram);
  remove(binary);
}

static struct linnet_ngram *estimate(struct linnet_context *context, unsigned order, double prune) {
  struct linnet_ngram_estimator_settings settings;
  linnet_ngram_estimator_settings_default(&settings);
  settings.order = order;
  settings.prune = prune;
  struct linnet_ngram_estimator *estimator = NULL;
  struct linnet_ngram *ngram = NULL;
  REQUIRE(linnet_ngram_estimator_create(context, &settings, &estimator) == LINNET_OK, "create");
  char *text = read_file(test_source("tests/golden/ngram_text.txt"));
  for (char *line = text, *end; *line; line = end + 1) {
    char *words[MAX_WORDS];
    end = strchr(line, '\n');
    *end = '\0';
    size_t count = split(line, " ", words, MAX_WORDS);
    REQUIRE(linnet_ngram_estimator_add(estimator, (const char *const *)words, count) == LINNET_OK, "add");
  }
  REQUIRE(linnet_ngram_estimator_finish(estimator, &ngram) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_ngram_estimator_destroy(estimator);
  return ngram;
}

static void save_arpa(struct linnet_context *context, const struct linnet_ngram *ngram, const char *path) {
  REQUIRE(linnet_ngram_save_arpa(context, ngram, path) == LINNET_OK, "save");
}

/* Lines "VALUE\tWORDS[\tWEIGHT]" agree. */
static double line_error(const char *a, const char *b) {
  const char *a_words = strchr(a, '\t'), *b_words = strchr(b, '\t');
  if (!a_words || !b_words)
    return strcmp(a, b) == 0 ? 0 : INFINITY;
  double error = fabs(atof(a) - atof(b));
  const char *a_weight = strchr(a_words + 1, '\t'), *b_weight = strchr(b_words + 1, '\t');
  size_t length = a_weight ? (size_t)(a_weight - a_words) : strlen(a_words);
  if (!a_weight != !b_weight || strncmp(a_words, b_words, length) != 0)
    return INFINITY;
  return a_weight ? fmax(error, fabs(atof(a_weight) - atof(b_weight))) : error;
}

/* Both models are written by the same writer, which sorts, and compared line by line. */
static void test_estimate(struct linnet_context *context) {
  static const char ours[] = TEST_BINARY_DIR "/test_ngram_ours.arpa",
                    theirs[] = TEST_BINARY_DIR "/test_ngram_theirs.arpa";
  struct linnet_ngram *estimated = estimate(context, 4, 0), *lmplz = load(context, "tests/golden/ngram_lmplz.arpa.gz");
  save_arpa(context, estimated, ours);
  save_arpa(context, lmplz, theirs);
  FILE *a = fopen(ours, "r"), *b = fopen(theirs, "r");
  REQUIRE(a && b, "open");
  static char line_a[4096], line_b[4096];
  double error = 0;
  size_t lines = 0;
  while (fgets(line_a, sizeof line_a, a) && fgets(line_b, sizeof line_b, b)) {
    error = fmax(error, line_error(line_a, line_b));
    lines++;
  }
  CHECK(lines > 1000 && feof(a) && !fgets(line_b, sizeof line_b, b), "%zu lines", lines);
  CHECK(error < 1e-5, "difference to lmplz %g, bound 1e-5", error);
  printf("estimate: %zu lines, largest difference %.2g in log10\n", lines, error);
  fclose(a);
  fclose(b);
  remove(ours);
  remove(theirs);
  linnet_ngram_destroy(estimated);
  linnet_ngram_destroy(lmplz);
}

/* --- pruning ----------------------------------------------------------------------------------------------------- */

/* The results for a pruned model. */
struct found {
  size_t grams; /* of two words or more */
  double error; /* largest difference in log10 */
};

/* Looks up a line of an ARPA file in the golden file, which has "NAME\tWORDS\tPROBABILITY\tWEIGHT". */
static void find_gram(const char *golden, const char *name, const char *line, struct found *found) {
  char key[256];
  const char *words = strchr(line, '\t'), *end = words ? strpbrk(words + 1, "\t\n") : NULL;
  if (!end)
    return;
  int length = snprintf(key, sizeof key, "\n%s%.*s\t", name, (int)(end - words), words);
  const char *there = strstr(golden, key);
  double probability, weight;
  bool single = !memchr(words, ' ', (size_t)(end - words));
  found->grams += !single;
  if (there && sscanf(there + length, "%lf %lf", &probability, &weight) == 2)
    found->error = fmax(found->error, fmax(fabs(atof(line) - probability), fabs(atof(end) - weight)));
  else if (!single)
    found->error = INFINITY;
}

static size_t count_grams(const char *golden, const char *name) {
  size_t count = 0, length = strlen(name);
  for (const char *line = golden; line && *line; line = strchr(line, '\n'), line += line != NULL) {
    const char *words = line + length + 1;
    count += strncmp(line, name, length) == 0 && memchr(words, ' ', strcspn(words, "\t")) != NULL;
  }
  return count;
}

static void check_pruned(struct linnet_context *context, const struct linnet_ngram *ngram, const char *golden,
                         const char *name) {
  static const char path[] = TEST_BINARY_DIR "/test_ngram_prune.arpa";
  static char line[4096];
  struct found found = {.error = 0};
  save_arpa(context, ngram, path);
  FILE *file = fopen(path, "r");
  REQUIRE(file, "open");
  while (fgets(line, sizeof line, file))
    find_gram(golden, name, line, &found);
  fclose(file);
  remove(path);
  size_t expected = count_grams(golden, name);
  CHECK(expected > 50 && found.grams == expected, "%s: %zu n-grams of two words or more, not %zu", name, found.grams,
        expected);
  CHECK(found.error < 5e-5, "%s: difference %g, bound 5e-5", name, found.error);
  printf("pruned, histories of %s: %zu n-grams, largest difference %.2g in log10\n", name, found.grams, found.error);
}

static struct linnet_ngram *prune(struct linnet_context *context, double threshold) {
  struct linnet_ngram *whole = load(context, "tests/golden/ngram_lmplz.arpa.gz"), *pruned = NULL;
  REQUIRE(linnet_ngram_prune(context, whole, threshold, &pruned) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_ngram_destroy(whole);
  return pruned;
}

/* With histories of the model, and of the text. */
static void test_prune(struct linnet_context *context) {
  static const char *const names[] = {"model 0.0001173", "text 7.22e-05", "text 0.001399"};
  char *golden = strdup(read_file(test_source("tests/golden/ngram_prune.tsv")));
  REQUIRE(golden, "no memory");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    double threshold = atof(strchr(names[i], ' '));
    struct linnet_ngram *pruned = names[i][0] == 'm' ? prune(context, threshold) : estimate(context, 4, threshold);
    check_pruned(context, pruned, golden, names[i]);
    linnet_ngram_destroy(pruned);
  }
  free(golden);
}

int main(void) {
  struct linnet_context *context = test_context();
  struct linnet_ngram *probe = NULL;
  enum linnet_status status = linnet_ngram_load(context, test_source("tests/golden/ngram_lmplz.arpa.gz"), &probe);
  linnet_ngram_destroy(probe);
  if (status == LINNET_ERROR_UNSUPPORTED)
    return test_skip("built without zlib");
  test_scores(context, "lmplz");
  test_scores(context, "pruned");
  test_estimate(context);
  test_prune(context);
  linnet_context_destroy(context);
  return test_result();
}
