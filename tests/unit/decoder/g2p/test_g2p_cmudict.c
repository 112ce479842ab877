/* A model of a tenth of CMUdict on words that are not in its training data. Skips without CMUdict. */
#include <linnet/g2p.h>
#include <linnet/lexicon.h>

#include "test.h"

enum { EVERY = 10, TESTED = 1000, MAX_PHONES = 256 };

static void add_word(struct linnet_context *context, struct linnet_g2p_trainer *trainer,
                     const struct linnet_lexicon *lexicon, size_t word) {
  for (size_t v = 0; v < linnet_lexicon_num_variants(lexicon, word); v++) {
    const char *phones[MAX_PHONES];
    size_t count;
    const int *labels = linnet_lexicon_pronunciation(lexicon, word, v, &count);
    REQUIRE(count <= MAX_PHONES, "%zu phones", count);
    for (size_t i = 0; i < count; i++)
      phones[i] = linnet_symbols_name(linnet_lexicon_phones(lexicon), labels[i]);
    REQUIRE(linnet_g2p_trainer_add(trainer, linnet_lexicon_word(lexicon, word), phones, count) == LINNET_OK, "%s",
            linnet_context_error(context));
  }
}

static struct linnet_g2p *train(struct linnet_context *context, const struct linnet_lexicon *lexicon) {
  struct linnet_g2p_trainer *trainer;
  struct linnet_g2p *g2p;
  struct linnet_g2p_settings settings;
  linnet_g2p_settings_default(&settings);
  settings.num_iterations = 5;
  REQUIRE(linnet_g2p_trainer_create(context, &settings, &trainer) == LINNET_OK, "%s", linnet_context_error(context));
  for (size_t word = 0; word < linnet_lexicon_num_words(lexicon); word += EVERY)
    add_word(context, trainer, lexicon, word);
  REQUIRE(linnet_g2p_trainer_finish(trainer, &g2p) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_g2p_trainer_destroy(trainer);
  return g2p;
}

static bool is_pronunciation(const struct linnet_lexicon *lexicon, size_t word, const char *const *phones,
                             size_t count) {
  for (size_t v = 0; v < linnet_lexicon_num_variants(lexicon, word); v++) {
    size_t wanted, i = 0;
    const int *labels = linnet_lexicon_pronunciation(lexicon, word, v, &wanted);
    while (i < count && i < wanted &&
           strcmp(phones[i], linnet_symbols_name(linnet_lexicon_phones(lexicon), labels[i])) == 0)
      i++;
    if (i == count && i == wanted)
      return true;
  }
  return false;
}

static bool is_right(struct linnet_context *context, const struct linnet_g2p *g2p, const struct linnet_lexicon *lexicon,
                     size_t word) {
  struct linnet_g2p_result *result;
  REQUIRE(linnet_g2p_pronounce(g2p, context, linnet_lexicon_word(lexicon, word), 1, &result) == LINNET_OK, "%s",
          linnet_context_error(context));
  size_t count;
  const char *const *phones = linnet_g2p_result_phones(result, 0, &count);
  bool right = is_pronunciation(lexicon, word, phones, count);
  linnet_g2p_result_destroy(result);
  return right;
}

int main(void) {
  const char *path = test_data("cmudict/cmudict.dict");
  if (!path)
    return test_skip("no CMUdict");
  struct linnet_context *context = test_context();
  struct linnet_lexicon *lexicon;
  struct linnet_lexicon_settings settings;
  linnet_lexicon_settings_default(&settings);
  settings.strip_stress = 1;
  REQUIRE(linnet_lexicon_load(context, path, &settings, NULL, &lexicon) == LINNET_OK, "%s",
          linnet_context_error(context));
  struct linnet_g2p *g2p = train(context, lexicon);
  size_t known = 0, unseen = 0;
  for (size_t i = 0; i < TESTED; i++) {
    known += is_right(context, g2p, lexicon, 100 * i);
    unseen += is_right(context, g2p, lexicon, 100 * i + EVERY / 2);
  }
  printf("right: %zu of %d known words, %zu of %d others\n", known, TESTED, unseen, TESTED);
  CHECK(known >= 950, "%zu known words, at least 950", known);
  CHECK(unseen >= 500, "%zu unknown words, at least 500", unseen);
  linnet_g2p_destroy(g2p);
  linnet_lexicon_destroy(lexicon);
  linnet_context_destroy(context);
  return test_result();
}
