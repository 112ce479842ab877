/* n-gram models: probabilities, states, bindings, estimation. */
#include <linnet/ngram.h>

#include <pthread.h>

#include "allocators.h"

static const char SMALL[] = "\\data\\\n"
                            "ngram 1=5\n"
                            "ngram 2=4\n"
                            "ngram 3=2\n"
                            "\n"
                            "\\1-grams:\n"
                            "-99\t<s>\t-0.3\n"
                            "-1\t</s>\n"
                            "-0.5\ta\t-0.25\n"
                            "-0.75\tb\t-0.125\n"
                            "-2\tc\n"
                            "\n"
                            "\\2-grams:\n"
                            "-0.1\t<s> a\t-0.5\n"
                            "-0.2\ta b\t-0.0625\n"
                            "-0.4\tb </s>\n"
                            "-0.6\tb a\n"
                            "\n"
                            "\\3-grams:\n"
                            "-0.05\t<s> a b\n"
                            "-0.07\ta b </s>\n"
                            "\n"
                            "\\end\\\n";

static struct linnet_ngram *load_text(struct linnet_context *context, const char *text) {
  struct linnet_ngram *ngram = NULL;
  enum linnet_status status = linnet_ngram_load_memory(context, text, strlen(text), "FILE", &ngram);
  REQUIRE(status == LINNET_OK, "%s", linnet_context_error(context));
  return ngram;
}

static double score(const struct linnet_ngram *ngram, uint32_t *state, const char *word) {
  return linnet_ngram_score(ngram, state, linnet_ngram_find(ngram, word)) / log(10);
}

static void check_near(double value, double expected, const char *what) {
  CHECK(fabs(value - expected) < 1e-6, "%s: %.8f, expected %.8f", what, value, expected);
}

/* The unknown word, as two toolkits write it. */
static void test_unknown(struct linnet_context *context) {
  static const char *const names[] = {"<unk>", "<UNK>"};
  for (size_t i = 0; i < 2; i++) {
    char text[sizeof SMALL + 16];
    const char *word = strstr(SMALL, "\tc\n");
    snprintf(text, sizeof text, "%.*s\t%s%s", (int)(word - SMALL), SMALL, names[i], word + 2);
    struct linnet_ngram *ngram = load_text(context, text);
    uint32_t state = linnet_ngram_begin(ngram);
    check_near(score(ngram, &state, "elsewhere"), -0.3 - 2, names[i]);
    linnet_ngram_destroy(ngram);
  }
}

/* Computed by hand. */
static void test_backoff(struct linnet_context *context) {
  struct linnet_ngram *ngram = load_text(context, SMALL);
  CHECK(linnet_ngram_order(ngram) == 3 && linnet_ngram_num_ngrams(ngram, 1) == 5 &&
            linnet_ngram_num_ngrams(ngram, 3) == 2,
        "size");
  CHECK(linnet_ngram_num_ngrams(ngram, 0) == 0 && linnet_ngram_num_ngrams(ngram, 4) == 0, "orders that are not there");
  uint32_t state = linnet_ngram_begin(ngram);
  check_near(score(ngram, &state, "a"), -0.1, "<s> a");
  uint32_t after_a = state;
  check_near(score(ngram, &state, "b"), -0.05, "<s> a b");
  check_near(linnet_ngram_finish(ngram, state) / log(10), -0.07, "a b </s>");
  check_near(score(ngram, &state, "a"), -0.0625 - 0.6, "a b -> b a");
  check_near(score(ngram, &state, "c"), -0.25 - 2, "b a -> a -> c");
  check_near(score(ngram, &state, "b"), -0.75, "c -> b");
  state = after_a;
  check_near(score(ngram, &state, "a"), -0.5 - 0.25 - 0.5, "<s> a -> a -> a");
  CHECK(isinf(score(ngram, &state, "x")) && state == 0, "a word that is not there");
  linnet_ngram_destroy(ngram);
}

/* Histories that predict the same have one state. */
static void test_states(struct linnet_context *context) {
  struct linnet_ngram *ngram = load_text(context, SMALL);
  uint32_t one = linnet_ngram_begin(ngram), other = 0;
  score(ngram, &one, "a"), score(ngram, &one, "c");
  CHECK(one == 0, "c is no context: state %u", one);
  score(ngram, &one, "b"), score(ngram, &one, "a"), score(ngram, &other, "a");
  CHECK(one == other, "'b a' has no children and no weight: the state is that of 'a'");
  linnet_ngram_destroy(ngram);
}

static void test_binding(struct linnet_context *context) {
  static const char *const tokens[] = {NULL, "b", "a", "zebra"};
  struct linnet_ngram *ngram = load_text(context, SMALL);
  struct linnet_ngram_binding *binding = NULL;
  size_t missing = 0;
  REQUIRE(linnet_ngram_bind(context, ngram, tokens, 4, &missing, &binding) == LINNET_OK, "bind");
  CHECK(missing == 1, "%zu missing", missing);
  const struct linnet_language_model *model = linnet_ngram_language_model(binding);
  uint32_t state, next;
  REQUIRE(model->state_bytes == sizeof state, "%zu bytes", model->state_bytes);
  model->begin(model->user, &state);
  check_near(model->score(model->user, &state, 2, &next) / log(10), -0.1, "<s> a");
  check_near(model->score(model->user, &next, 1, &next) / log(10), -0.05, "<s> a b");
  check_near(model->finish(model->user, &next) / log(10), -0.07, "a b </s>");
  CHECK(isinf(model->score(model->user, &state, 3, &next)) && isinf(model->score(model->user, &state, 77, &next)),
        "tokens without words");
  linnet_ngram_binding_destroy(binding);
  struct linnet_symbols *symbols = NULL;
  REQUIRE(linnet_symbols_create(context, tokens + 1, 2, &symbols) == LINNET_OK, "symbols");
  REQUIRE(linnet_ngram_bind_symbols(context, ngram, symbols, NULL, &binding) == LINNET_OK, "bind symbols");
  model = linnet_ngram_language_model(binding);
  check_near(model->score(model->user, &state, 2, &next) / log(10), -0.1, "<s> a");
  linnet_ngram_binding_destroy(binding);
  CHECK(linnet_ngram_bind(context, ngram, (const char *const[]){NULL, NULL}, 2, NULL, &binding) ==
                LINNET_ERROR_ARGUMENT &&
            !binding,
        "a token without name");
  linnet_symbols_destroy(symbols);
  linnet_ngram_binding_destroy(NULL);
  linnet_ngram_destroy(ngram);
}

/* --- estimation ------------------------------------------------------------------------------------------------- */

enum { SENTENCES = 600, LONGEST = 10 };

static enum linnet_status add_sentence(struct linnet_ngram_estimator *estimator, struct test_random *r) {
  static const char *const words[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"};
  const char *sentence[LONGEST];
  size_t count = test_below(r, LONGEST + 1);
  for (size_t i = 0; i < count; i++) /* some words are frequent, some rare */
    sentence[i] = words[test_below(r, 1 + test_below(r, 16))];
  return linnet_ngram_estimator_add(estimator, sentence, count);
}

static enum linnet_status estimate(struct linnet_context *context, unsigned order, size_t sentences,
                                   struct linnet_ngram **ngram) {
  struct test_random r = {11};
  struct linnet_ngram_estimator *estimator = NULL;
  struct linnet_ngram_estimator_settings settings;
  linnet_ngram_estimator_settings_default(&settings);
  settings.order = order;
  settings.discount_fallback = 1;
  enum linnet_status status = linnet_ngram_estimator_create(context, &settings, &estimator);
  for (size_t i = 0; i < sentences && status == LINNET_OK; i++)
    status = add_sentence(estimator, &r);
  if (status == LINNET_OK)
    status = linnet_ngram_estimator_finish(estimator, ngram);
  linnet_ngram_estimator_destroy(estimator);
  return status;
}

/* Probabilities of all words but <s> add up to 1 after any history. */
static void check_sums(const struct linnet_ngram *ngram, unsigned order, struct test_random *r) {
  size_t words = linnet_ngram_num_ngrams(ngram, 1), start = linnet_ngram_find(ngram, "<s>");
  double worst = 0;
  for (int history = 0; history < 300; history++) {
    uint32_t state = history % 3 == 0 ? linnet_ngram_begin(ngram) : 0;
    for (size_t i = test_below(r, 8); i > 0; i--)
      linnet_ngram_score(ngram, &state, (uint32_t)test_below(r, words));
    double sum = 0;
    for (uint32_t w = 0; w < words; w++) {
      uint32_t next = state;
      sum += w == start ? 0 : exp(linnet_ngram_score(ngram, &next, w));
    }
    worst = fmax(worst, fabs(sum - 1));
  }
  CHECK(worst < 1e-5, "order %u: a sum is %g away from 1, bound 1e-5", order, worst);
}

/* --- threads ---------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 200 };

/* A thread's handle, and the model and transcripts that all threads share. */
struct user {
  struct linnet_context *own;
  const struct linnet_ngram *ngram;
  const struct linnet_transcripts *blank; /* has the blank as a token, which tables of symbols refuse */
  unsigned index, errors;                 /* what went wrong; printed by the main thread */
};

/* Whether the thread's handle has the error message. */
static bool failed(const struct user *u, enum linnet_status status, const char *sentence) {
  return status != LINNET_OK && strstr(linnet_context_error(u->own), sentence);
}

/* Binds and makes copies, with failures in between. */
static void *use_shared(void *argument) {
  static const char *const good[] = {NULL, "a", "b"}, *const bad[] = {NULL, NULL};
  struct user *u = argument;
  for (unsigned i = 0; i < ROUNDS; i++) {
    struct linnet_ngram_binding *binding = NULL;
    struct linnet_ngram *copy = NULL, *again = NULL;
    struct linnet_symbols *symbols = NULL;
    u->errors += linnet_ngram_bind(u->own, u->ngram, good, 3, NULL, &binding) != LINNET_OK;
    u->errors += linnet_ngram_quantize(u->own, u->ngram, &copy) != LINNET_OK;
    u->errors += copy && !failed(u, linnet_ngram_quantize(u->own, copy, &again), "quantized");
    u->errors += !failed(u, linnet_transcripts_symbols(u->own, u->blank, &symbols), "is the blank");
    u->errors += !failed(u, linnet_ngram_save_arpa(u->own, u->ngram, "/missing/a"), "/missing/a");
    u->errors += !failed(u, linnet_ngram_save_binary(u->own, u->ngram, "/missing/b"), "/missing/b");
    linnet_ngram_binding_destroy(binding);
    u->errors += !failed(u, linnet_ngram_bind(u->own, u->ngram, bad, 2, NULL, &binding), "without a name");
    linnet_ngram_destroy(copy);
  }
  return NULL;
}

/* Threads share immutable objects: a failure leaves its message in the thread's handle, and the handle of the
 * objects does not change. TSan finds races. */
static void test_threads(struct linnet_context *context) {
  static const char text[] = "utterance a <blk>\n";
  struct linnet_ngram *ngram = load_text(context, SMALL);
  struct linnet_transcripts *blank = NULL;
  struct user users[THREADS];
  pthread_t threads[THREADS];
  REQUIRE(linnet_transcripts_load_memory(context, text, sizeof text - 1, "FILE", &blank) == LINNET_OK, "%s",
          linnet_context_error(context));
  REQUIRE(linnet_ngram_load(context, "/missing", &(struct linnet_ngram *){NULL}) != LINNET_OK,
          "a file that is not there");
  for (unsigned i = 0; i < THREADS; i++) {
    users[i] = (struct user){.ngram = ngram, .blank = blank, .index = i};
    REQUIRE(linnet_context_share(context, &users[i].own) == LINNET_OK, "handle");
    REQUIRE(pthread_create(&threads[i], NULL, use_shared, &users[i]) == 0, "thread");
  }
  for (unsigned i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    CHECK(users[i].errors == 0, "thread %u: %u results or sentences are wrong", i, users[i].errors);
    linnet_context_destroy(users[i].own);
  }
  CHECK(strstr(linnet_context_error(context), "/missing: "), "the objects' handle has: %s",
        linnet_context_error(context));
  linnet_transcripts_destroy(blank);
  linnet_ngram_destroy(ngram);
}

static void test_sums(struct linnet_context *context) {
  struct test_random r = {7};
  for (unsigned order = 1; order <= LINNET_NGRAM_MAX_ORDER; order++) {
    struct linnet_ngram *ngram = NULL;
    REQUIRE(estimate(context, order, SENTENCES, &ngram) == LINNET_OK, "%s", linnet_context_error(context));
    CHECK(linnet_ngram_order(ngram) == order && linnet_ngram_num_ngrams(ngram, 1) == 19, "size");
    check_sums(ngram, order, &r);
    linnet_ngram_destroy(ngram);
  }
}

static void check_refused(struct linnet_context *context, const char *word, const char *location) {
  struct linnet_ngram_estimator *estimator = NULL;
  REQUIRE(linnet_ngram_estimator_create(context, NULL, &estimator) == LINNET_OK, "create");
  CHECK(linnet_ngram_estimator_add(estimator, &word, 1) == LINNET_ERROR_FORMAT &&
            strstr(linnet_context_error(context), location),
        "'%s': %s", word, linnet_context_error(context));
  linnet_ngram_estimator_destroy(estimator);
}

static void test_refusals(struct linnet_context *context) {
  check_refused(context, "<s>", "'<s>'");
  check_refused(context, "</s>", "'</s>'");
  check_refused(context, "<unk>", "'<unk>'");
  check_refused(context, "", "empty");
  check_refused(context, "a b", "white space");
  struct linnet_ngram_estimator *estimator = NULL;
  struct linnet_ngram *ngram = NULL;
  const char *word = "a";
  REQUIRE(linnet_ngram_estimator_create(context, NULL, &estimator) == LINNET_OK, "create");
  CHECK(linnet_ngram_estimator_finish(estimator, &ngram) == LINNET_ERROR_FORMAT && !ngram, "no text");
  CHECK(linnet_ngram_estimator_add(estimator, &word, 1) == LINNET_ERROR_STATE, "after the end");
  linnet_ngram_estimator_destroy(estimator);
  REQUIRE(linnet_ngram_estimator_create(context, NULL, &estimator) == LINNET_OK, "create");
  CHECK(linnet_ngram_estimator_add(estimator, &word, 1) == LINNET_OK, "add");
  CHECK(linnet_ngram_estimator_finish(estimator, &ngram) == LINNET_ERROR_FORMAT &&
            strstr(linnet_context_error(context), "discounts"),
        "one word: %s", linnet_context_error(context));
  linnet_ngram_estimator_destroy(estimator);
  struct linnet_ngram_estimator_settings settings;
  linnet_ngram_estimator_settings_default(&settings);
  for (unsigned order = 0; order <= LINNET_NGRAM_MAX_ORDER + 1; order += LINNET_NGRAM_MAX_ORDER + 1) {
    settings.order = order;
    CHECK(linnet_ngram_estimator_create(context, &settings, &estimator) == LINNET_ERROR_ARGUMENT && !estimator,
          "order %u", order);
  }
  linnet_ngram_estimator_destroy(NULL);
  linnet_ngram_destroy(NULL);
}

/* --- memory ----------------------------------------------------------------------------------------------------- */

static enum linnet_status scenario_arpa(struct linnet_context *context) {
  static const char *const tokens[] = {NULL, "a"};
  struct linnet_ngram *ngram = NULL;
  struct linnet_ngram_binding *binding = NULL;
  enum linnet_status status = linnet_ngram_load_memory(context, SMALL, strlen(SMALL), "FILE", &ngram);
  if (status == LINNET_OK)
    status = linnet_ngram_bind(context, ngram, tokens, 2, NULL, &binding);
  linnet_ngram_binding_destroy(binding);
  linnet_ngram_destroy(ngram);
  return status;
}

static enum linnet_status scenario_gzip(struct linnet_context *context) {
  struct linnet_ngram *ngram = NULL;
  enum linnet_status status = linnet_ngram_load(context, test_source("tests/fuzz/corpus/arpa/small.arpa.gz"), &ngram);
  linnet_ngram_destroy(ngram);
  return status == LINNET_ERROR_UNSUPPORTED ? LINNET_OK : status;
}

static enum linnet_status scenario_estimate(struct linnet_context *context) {
  static const char path[] = TEST_BINARY_DIR "/test_ngram.bin";
  struct linnet_ngram *ngram = NULL, *quantized = NULL, *mapped = NULL;
  enum linnet_status status = estimate(context, 3, 20, &ngram);
  if (status == LINNET_OK)
    status = linnet_ngram_quantize(context, ngram, &quantized);
  if (status == LINNET_OK)
    status = linnet_ngram_save_binary(context, quantized, path);
  if (status == LINNET_OK)
    status = linnet_ngram_load(context, path, &mapped);
  linnet_ngram_destroy(mapped);
  linnet_ngram_destroy(quantized);
  linnet_ngram_destroy(ngram);
  remove(path);
  return status;
}

/* Look-ups never allocate. */
static void test_no_allocation(void) {
  struct failing_allocator allocator;
  struct linnet_context *context = failing_context(&allocator);
  struct linnet_ngram *ngram = load_text(context, SMALL);
  size_t calls = allocator.calls;
  uint32_t state = linnet_ngram_begin(ngram);
  for (uint32_t i = 0; i < 1000; i++)
    linnet_ngram_score(ngram, &state, i % 7);
  linnet_ngram_finish(ngram, state);
  CHECK(allocator.calls == calls, "%zu allocations", allocator.calls - calls);
  linnet_ngram_destroy(ngram);
  linnet_context_destroy(context);
}

int main(void) {
  struct linnet_context *context = test_context();
  test_backoff(context);
  test_unknown(context);
  test_states(context);
  test_binding(context);
  test_threads(context);
  test_sums(context);
  test_refusals(context);
  linnet_context_destroy(context);
  test_no_allocation();
  torture("ARPA", scenario_arpa);
  torture("gzip", scenario_gzip);
  torture("estimation, quantized, binary", scenario_estimate);
  return test_result();
}
