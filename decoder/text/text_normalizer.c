/* Written tokens to spoken words: the public functions. */
#include "decoder/text/text_ways.h"

struct linnet_spoken {
  struct linnet_context *context;
  struct linnet_text_ways ways;
};

enum linnet_status linnet_spoken_create(const struct linnet_text_normalizer *normalizer, struct linnet_context *context,
                                        const char *token, linnet_known_word_fn known, void *user,
                                        struct linnet_spoken **spoken) {
  if (spoken)
    *spoken = NULL;
  if (!normalizer || !context || !token || !known || !spoken)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_spoken_create: an argument is NULL");
  struct linnet_spoken *made = linnet_calloc(context, 1, sizeof *made);
  if (!made)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the spoken forms of a word");
  made->context = context;
  struct linnet_text_speaker speaker = {.n = normalizer,
                                        .known = known,
                                        .user = user,
                                        .steps = LINNET_TEXT_STEPS,
                                        .longest_acronym = LINNET_TEXT_ACRONYM_LETTERS};
  if (linnet_text_speak(&speaker, token, &made->ways)) {
    *spoken = made;
    return LINNET_OK;
  }
  linnet_spoken_destroy(made);
  return linnet_fail(context, LINNET_ERROR_LIMIT, "'%.40s...' is too long for one word", token);
}

size_t linnet_spoken_num_ways(const struct linnet_spoken *spoken) {
  return spoken->ways.count;
}

const char *linnet_spoken_words(const struct linnet_spoken *spoken, size_t way) {
  return way < spoken->ways.count ? spoken->ways.way[way].words : NULL;
}

int linnet_spoken_is_known(const struct linnet_spoken *spoken, size_t way) {
  return way < spoken->ways.count && spoken->ways.way[way].known;
}

void linnet_spoken_destroy(struct linnet_spoken *spoken) {
  if (spoken)
    linnet_free(spoken->context, spoken);
}
