/* Look-ups of an n-gram model: a text's words one after another, by their numbers, as a search does; and random ones,
 * which miss caches more.
 *
 *   bench_ngram MODEL TEXT      MODEL: ARPA or binary (linnet ngram --order 3 --text TEXT --binary MODEL) */
#include <linnet/ngram.h>

#include "bench.h"

struct work {
  const struct linnet_ngram *ngram;
  size_t *words; /* LINNET_NOT_FOUND ends a sentence */
  size_t count, scored;
  size_t end;
  double sum; /* of log-probabilities, so that the compiler removes none */
};

static void score_all(void *user) {
  struct work *w = user;
  uint32_t state = linnet_ngram_begin(w->ngram);
  double sum = 0;
  for (size_t i = 0; i < w->count; i++) {
    bool end = w->words[i] == LINNET_NOT_FOUND;
    sum += linnet_ngram_score(w->ngram, &state, end ? w->end : w->words[i]);
    if (end)
      state = linnet_ngram_begin(w->ngram);
  }
  w->sum = sum;
}

static size_t *read_text(const struct linnet_ngram *ngram, const char *path, size_t *count) {
  FILE *file = fopen(path, "r");
  REQUIRE(file, "cannot open %s", path);
  size_t capacity = 1 << 26;
  size_t *words = malloc(capacity * sizeof *words);
  char *line = NULL;
  size_t bytes = 0;
  REQUIRE(words, "no memory");
  for (*count = 0; getline(&line, &bytes, file) >= 0; words[(*count)++] = LINNET_NOT_FOUND) {
    char *rest = NULL;
    for (char *word = strtok_r(line, " \t\r\n", &rest); word; word = strtok_r(NULL, " \t\r\n", &rest)) {
      REQUIRE(*count + 2 < capacity, "%s: too long", path);
      size_t index = linnet_ngram_find(ngram, word);
      words[(*count)++] = index == LINNET_NOT_FOUND ? linnet_ngram_find(ngram, "<unk>") : index;
    }
  }
  free(line);
  fclose(file);
  return words;
}

static void report(const char *what, struct work *work) {
  double seconds = bench_time(score_all, work, 2);
  printf("%-24s %8.2f million look-ups/s   %6.1f ns   mean log10 %.6f\n", what, (double)work->count / seconds * 1e-6,
         seconds / (double)work->count * 1e9, work->sum / log(10) / (double)work->count);
}

static void measure(const char *form, const struct linnet_ngram *ngram, const char *path) {
  struct work work = {.ngram = ngram, .end = linnet_ngram_find(ngram, "</s>")};
  struct test_random r = {3};
  size_t total = 0;
  for (unsigned k = 1; k <= linnet_ngram_order(ngram); k++)
    total += linnet_ngram_num_ngrams(ngram, k);
  printf("%s: order %u, %zu n-grams, %.2f bytes each\n", form, linnet_ngram_order(ngram), total,
         (double)linnet_ngram_memory_bytes(ngram) / (double)total);
  work.words = read_text(ngram, path, &work.count);
  report("text", &work);
  for (size_t i = work.count; i-- > 1;) { /* the same words, shuffled: mostly n-grams that are not there */
    size_t j = test_below(&r, i + 1);
    size_t swap = work.words[i];
    work.words[i] = work.words[j];
    work.words[j] = swap;
  }
  report("shuffled", &work);
  free(work.words);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: bench_ngram MODEL TEXT\n");
    return 2;
  }
  struct linnet_context *context = test_context();
  struct linnet_ngram *ngram = NULL, *quantized = NULL;
  REQUIRE(linnet_ngram_load(context, argv[1], &ngram) == LINNET_OK, "%s", linnet_context_error(context));
  measure(linnet_ngram_is_quantized(ngram) ? "8 bits" : "32 bits", ngram, argv[2]);
  if (linnet_ngram_quantize(context, ngram, &quantized) == LINNET_OK)
    measure("8 bits", quantized, argv[2]);
  linnet_ngram_destroy(quantized);
  linnet_ngram_destroy(ngram);
  linnet_context_destroy(context);
  return 0;
}
