/* Search for words, with a pronunciation lexicon and a language model over words: CPU milliseconds for 800 frames,
 * bytes of a hypothesis, and the results.
 *
 *   bench_words SYMBOLS LEXICON LM POSTERIORS LENGTHS [--beam N] [--lm-weight X] [--word-bonus X] [--threshold X]
 *               [--symbol-threshold X] [--top N] [--seconds X] [--text]
 *
 * POSTERIORS are the log-posteriors of all utterances, raw float32, LENGTHS their numbers of frames, one a line;
 * SYMBOLS as for `linnet decode`. --text prints the words of each utterance, a line each, instead of the time.
 * peer_words.py writes these files, and compares. */
#include <linnet/ngram.h>
#include <linnet/word_search.h>

#include "bench.h"

enum { MAX_UTTERANCES = 4096, FRAMES = 800 };

struct task {
  struct linnet_symbols *symbols;
  struct linnet_lexicon *lexicon;
  struct linnet_ngram *ngram;
  struct linnet_ngram_binding *binding;
  float *lookahead, *values;
  size_t lengths[MAX_UTTERANCES], count, frames;
  struct linnet_word_search_settings settings;
  struct linnet_word_search *search;
  double seconds;
  bool text;
};

static void read_lengths(struct task *task, const char *path) {
  FILE *file = fopen(path, "r");
  REQUIRE(file, "%s", path);
  while (task->count < MAX_UTTERANCES && fscanf(file, "%zu", &task->lengths[task->count]) == 1)
    task->frames += task->lengths[task->count++];
  fclose(file);
}

static void read_posteriors(struct task *task, const char *path) {
  size_t floats = task->frames * (size_t)linnet_symbols_num_symbols(task->symbols);
  FILE *file = fopen(path, "rb");
  task->values = bench_alloc((floats + 1) * sizeof *task->values);
  REQUIRE(file && fread(task->values, sizeof *task->values, floats, file) == floats, "%s", path);
  fclose(file);
}

static void load(struct task *task, struct linnet_context *context, char **paths) {
  struct linnet_lexicon_settings settings;
  linnet_lexicon_settings_default(&settings);
  settings.strip_stress = 1;
  REQUIRE(linnet_symbols_load(context, paths[0], &task->symbols) == LINNET_OK &&
              linnet_lexicon_load(context, paths[1], &settings, task->symbols, &task->lexicon) == LINNET_OK &&
              linnet_ngram_load(context, paths[2], &task->ngram) == LINNET_OK,
          "%s", linnet_context_error(context));
  size_t tokens = linnet_lexicon_num_words(task->lexicon) + 2;
  const char **names = bench_alloc(tokens * sizeof *names);
  task->lookahead = bench_alloc(tokens * sizeof *task->lookahead);
  linnet_lexicon_tokens(task->lexicon, names);
  REQUIRE(linnet_ngram_bind(context, task->ngram, names, tokens, NULL, &task->binding) == LINNET_OK, "%s",
          linnet_context_error(context));
  free(names);
  linnet_ngram_unigrams(task->binding, task->lookahead);
  task->settings.model = linnet_ngram_language_model(task->binding);
  task->settings.lookahead = task->lookahead;
  read_lengths(task, paths[4]);
  read_posteriors(task, paths[3]);
}

static bool parse(int argc, char **argv, struct task *task) {
  for (int i = 6; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--text") == 0) {
      task->text = true;
      continue;
    }
    if (value && strcmp(argv[i], "--beam") == 0)
      task->settings.beam = strtoul(value, NULL, 10);
    else if (value && strcmp(argv[i], "--top") == 0)
      task->settings.top_symbols = strtoul(value, NULL, 10);
    else if (value && strcmp(argv[i], "--seconds") == 0)
      task->seconds = strtod(value, NULL);
    else if (value && strcmp(argv[i], "--lm-weight") == 0)
      task->settings.model_weight = strtof(value, NULL);
    else if (value && strcmp(argv[i], "--word-bonus") == 0)
      task->settings.word_bonus = strtof(value, NULL);
    else if (value && strcmp(argv[i], "--threshold") == 0)
      task->settings.score_threshold = strtof(value, NULL);
    else if (value && strcmp(argv[i], "--symbol-threshold") == 0)
      task->settings.symbol_threshold = strtof(value, NULL);
    else
      return false;
    i++;
  }
  return argc >= 6;
}

static void print_words(const struct task *task) {
  struct linnet_word_hypothesis best;
  REQUIRE(linnet_word_search_hypothesis(task->search, 0, &best) == LINNET_OK, "no hypothesis");
  for (size_t i = 0; i < best.num_words; i++)
    printf("%s%s", i > 0 ? " " : "", linnet_word_search_text(task->search, best.words[i].token));
  printf("\n");
}

static void search_all(void *user) {
  struct task *task = user;
  const float *values = task->values;
  for (size_t i = 0; i < task->count; i++) {
    linnet_word_search_reset(task->search);
    linnet_word_search_accept(task->search, values, task->lengths[i]);
    linnet_word_search_finish(task->search);
    if (task->text)
      print_words(task);
    values += task->lengths[i] * (size_t)linnet_symbols_num_symbols(task->symbols);
  }
}

static void measure(struct task *task) {
  double seconds = bench_time(search_all, task, task->seconds);
  size_t tree = linnet_word_search_tree_memory_bytes(task->search), all = linnet_word_search_memory_bytes(task->search);
  printf("{\"beam\": %zu, \"ms\": %.4f, \"frames_per_second\": %.0f, \"bytes\": %.0f, \"tree_bytes\": %zu}\n",
         task->settings.beam, seconds * 1e3 * FRAMES / (double)task->frames, (double)task->frames / seconds,
         (double)(all - tree) / (double)task->settings.beam, tree);
}

int main(int argc, char **argv) {
  static struct task task = {.seconds = 0.3};
  struct linnet_context *context = test_context();
  linnet_word_search_settings_default(&task.settings);
  if (!parse(argc, argv, &task)) {
    fprintf(stderr, "usage: bench_words SYMBOLS LEXICON LM POSTERIORS LENGTHS [OPTIONS]\n");
    return 2;
  }
  load(&task, context, argv + 1);
  REQUIRE(linnet_word_search_create(context, task.lexicon, linnet_symbols_num_symbols(task.symbols), &task.settings,
                                    &task.search) == LINNET_OK,
          "%s", linnet_context_error(context));
  if (task.text)
    search_all(&task);
  else
    measure(&task);
  linnet_word_search_destroy(task.search);
  linnet_ngram_binding_destroy(task.binding);
  linnet_ngram_destroy(task.ngram);
  linnet_lexicon_destroy(task.lexicon);
  linnet_symbols_destroy(task.symbols);
  linnet_context_destroy(context);
  free(task.lookahead);
  free(task.values);
  return 0;
}
