/* Files of joint-sequence models: a round trip, and damaged files. */
#include <stdio.h>

#include "allocators.h"
#include "g2p_words.h"

static const char path[] = TEST_BINARY_DIR "/test_g2p_files.tmp";

struct bytes {
  unsigned char *data;
  size_t size;
};

static struct bytes save(struct linnet_context *context, const struct linnet_g2p *g2p) {
  REQUIRE(linnet_g2p_save(context, g2p, path) == LINNET_OK, "%s", linnet_context_error(context));
  FILE *file = fopen(path, "rb");
  REQUIRE(file, "no file");
  struct bytes bytes = {malloc(1 << 20), 0};
  REQUIRE(bytes.data, "no memory");
  bytes.size = fread(bytes.data, 1, 1 << 20, file);
  fclose(file);
  remove(path);
  return bytes;
}

static struct linnet_g2p *make(struct linnet_context *context, unsigned order, double prune) {
  struct linnet_g2p *g2p = NULL;
  REQUIRE(g2p_train_words(context, order, prune, &g2p) == LINNET_OK, "%s", linnet_context_error(context));
  return g2p;
}

/* Pronunciations and their probabilities are equal to the last bit. */
static void check_same(struct linnet_context *context, const struct linnet_g2p *a, const struct linnet_g2p *b) {
  for (size_t i = 0; i < G2P_WORD_COUNT; i++) {
    struct linnet_g2p_result *one, *two;
    REQUIRE(linnet_g2p_pronounce(a, context, G2P_WORDS[i].word, 5, &one) == LINNET_OK &&
                linnet_g2p_pronounce(b, context, G2P_WORDS[i].word, 5, &two) == LINNET_OK,
            "%s", linnet_context_error(context));
    bool same = linnet_g2p_result_num_pronunciations(one) == linnet_g2p_result_num_pronunciations(two);
    for (size_t k = 0; same && k < linnet_g2p_result_num_pronunciations(one); k++)
      same = linnet_g2p_result_log_probability(one, k) == linnet_g2p_result_log_probability(two, k);
    CHECK(same, "%s", G2P_WORDS[i].word);
    linnet_g2p_result_destroy(one);
    linnet_g2p_result_destroy(two);
  }
}

static void test_round_trip(struct linnet_context *context, unsigned order, double prune) {
  struct linnet_g2p *made = make(context, order, prune), *again = make(context, order, prune), *loaded;
  struct bytes first = save(context, made), second = save(context, again);
  CHECK(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
        "order %u: two trainings give two files", order);
  REQUIRE(linnet_g2p_load_memory(context, first.data, first.size, "FILE", &loaded) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_g2p_order(loaded) == order && linnet_g2p_num_units(loaded) == linnet_g2p_num_units(made) &&
            linnet_g2p_num_ngrams(loaded) == linnet_g2p_num_ngrams(made) &&
            linnet_g2p_num_phones(loaded) == linnet_g2p_num_phones(made),
        "sizes");
  CHECK(strcmp(linnet_g2p_phone(loaded, 0), "F") == 0 && !linnet_g2p_phone(loaded, 1000), "phones");
  check_same(context, made, loaded);
  struct bytes third = save(context, loaded);
  linnet_g2p_destroy(again);
  REQUIRE(linnet_g2p_load_memory(context, third.data, third.size, "FILE", &again) == LINNET_OK, "%s",
          linnet_context_error(context));
  check_same(context, made, again);
  linnet_g2p_destroy(made);
  linnet_g2p_destroy(again);
  linnet_g2p_destroy(loaded);
  free(first.data);
  free(second.data);
  free(third.data);
}

/* --- damage ------------------------------------------------------------------------------------------------------ */

/* Either a model that pronounces, or a message that names the file. */
static void check_survives(struct linnet_context *context, const struct bytes *file, const char *what, size_t at) {
  struct linnet_g2p *g2p;
  enum linnet_status status = linnet_g2p_load_memory(context, file->data, file->size, "FILE", &g2p);
  CHECK((status == LINNET_OK) == (g2p != NULL), "%s at %zu", what, at);
  CHECK(g2p || strncmp(linnet_context_error(context), "FILE:", 5) == 0, "%s at %zu: %s", what, at,
        linnet_context_error(context));
  struct linnet_g2p_result *result = NULL;
  CHECK(!g2p || linnet_g2p_pronounce(g2p, context, "phototax", 3, &result) == LINNET_OK, "%s at %zu", what, at);
  linnet_g2p_result_destroy(result);
  linnet_g2p_destroy(g2p);
}

static void test_damage(struct linnet_context *context) {
  struct linnet_g2p *g2p = make(context, 3, 0), *damaged;
  struct bytes file = save(context, g2p);
  for (size_t size = 0; size < file.size; size += size < 600 ? 1 : 37) {
    CHECK(linnet_g2p_load_memory(context, file.data, size, "FILE", &damaged) != LINNET_OK && !damaged, "cut to %zu",
          size);
    unsigned char *copy = malloc(size + 1);
    memcpy(copy, file.data, size);
    g2p_file_seal(copy, size);
    check_survives(context, &(struct bytes){copy, size}, "cut and sealed", size);
    free(copy);
  }
  for (size_t at = 0; at < file.size; at += at < 900 ? 1 : 29) {
    unsigned char before = file.data[at];
    file.data[at] ^= 1u << at % 8;
    CHECK(linnet_g2p_load_memory(context, file.data, file.size, "FILE", &damaged) != LINNET_OK, "bit at %zu", at);
    g2p_file_seal(file.data, file.size);
    check_survives(context, &file, "bit", at);
    file.data[at] = before;
    g2p_file_seal(file.data, file.size);
  }
  linnet_g2p_destroy(g2p);
  free(file.data);
}

static void test_errors(struct linnet_context *context) {
  struct linnet_g2p *g2p;
  CHECK(linnet_g2p_load(context, "no-such-file", &g2p) == LINNET_ERROR_IO && !g2p, "no file");
  CHECK(linnet_g2p_load(context, NULL, &g2p) == LINNET_ERROR_ARGUMENT, "no path");
  CHECK(linnet_g2p_load_memory(context, NULL, 0, "FILE", &g2p) == LINNET_ERROR_FORMAT, "no bytes");
  CHECK(strstr(linnet_context_error(context), "linnet g2p --train"), "%s", linnet_context_error(context));
  CHECK(linnet_g2p_save(context, NULL, path) == LINNET_ERROR_ARGUMENT, "no model");
}

static struct bytes model_file;

static enum linnet_status load_and_save(struct linnet_context *context) {
  struct linnet_g2p *g2p = NULL;
  enum linnet_status status = linnet_g2p_load_memory(context, model_file.data, model_file.size, "FILE", &g2p);
  if (status == LINNET_OK)
    status = linnet_g2p_save(context, g2p, path);
  linnet_g2p_destroy(g2p);
  return status;
}

int main(void) {
  struct linnet_context *context = test_context();
  for (unsigned order = 1; order <= 8; order++) {
    test_round_trip(context, order, 0);
    test_round_trip(context, order, 1e-3);
  }
  test_damage(context);
  test_errors(context);
  struct linnet_g2p *g2p = make(context, 3, 0);
  model_file = save(context, g2p);
  linnet_g2p_destroy(g2p);
  linnet_context_destroy(context);
  torture("load and save", load_and_save);
  remove(path);
  free(model_file.data);
  return test_result();
}
