/* Reads the hotwords of a stream. */
#include "decoder/words/stream_hotwords.h"

#include "base/settings.h"
#include "decoder/words/hotwords.h"
#include "decoder/words/symbols.h"

/* The branch of the guessed words; it and their lexicon are dropped if there are none, or if all are impossible. */
static enum linnet_status grow_branch(struct linnet_stream_hotwords *h, const struct linnet_word_search *search,
                                      const struct linnet_word_search_settings *settings, const char *name) {
  if (linnet_lexicon_num_words(h->lexicon) > 0) {
    LINNET_TRY(linnet_word_branch_create(&h->branch, h->context, &search->tree, h->lexicon, settings));
    if (h->branch.num_words > 0)
      return LINNET_OK;
    linnet_log(h->context, LINNET_LOG_WARNING,
               "%s: words that the lexicon lacks cannot be recognised, because the language model has no %s, or a "
               "grammar takes its place",
               name, LINNET_UNKNOWN_WORD);
  }
  linnet_lexicon_destroy(h->lexicon);
  h->lexicon = NULL;
  return LINNET_OK;
}

static enum linnet_status read_phrases(struct linnet_stream_hotwords *h, const struct linnet_source *source,
                                       const struct linnet_word_search *search, struct linnet_g2p_demand *g2p) {
  struct linnet_guesser guesser = {.context = h->context, .lexicon = search->lexicon, .added = h->lexicon, .g2p = g2p};
  enum linnet_status status =
      linnet_hotwords_open(h->context, source, linnet_source_name(source), search->lexicon, &guesser, &h->phrases);
  if (status == LINNET_OK) /* they may be names of callers, which should not be in a log of warnings */
    linnet_guesser_close(&guesser, LINNET_LOG_INFO);
  return status;
}

enum linnet_status linnet_stream_hotwords_open(struct linnet_context *context, const struct linnet_source *source,
                                               const struct linnet_word_search *search,
                                               const struct linnet_word_search_settings *settings,
                                               struct linnet_g2p_demand *g2p,
                                               struct linnet_stream_hotwords **hotwords) {
  struct linnet_stream_hotwords *h = *hotwords = linnet_calloc(context, 1, sizeof *h);
  if (!h)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for hotwords");
  h->context = context;
  enum linnet_status status = linnet_lexicon_create_beside(context, search->lexicon, &h->lexicon);
  if (status == LINNET_OK)
    status = read_phrases(h, source, search, g2p);
  if (status == LINNET_OK)
    status = grow_branch(h, search, settings, linnet_source_name(source));
  if (status == LINNET_OK)
    return LINNET_OK;
  linnet_stream_hotwords_destroy(h);
  *hotwords = NULL;
  return status;
}

void linnet_stream_hotwords_destroy(struct linnet_stream_hotwords *h) {
  if (!h)
    return;
  linnet_hotwords_destroy(h->phrases);
  linnet_word_tree_destroy(&h->branch);
  linnet_lexicon_destroy(h->lexicon);
  linnet_free(h->context, h);
}

void linnet_stream_hotwords_apply(const struct linnet_stream_hotwords *h, const struct linnet_hotwords *others,
                                  struct linnet_word_search *search) {
  linnet_word_search_set_hotwords(search, h ? h->phrases : others, h ? h->lexicon : NULL,
                                  h && h->lexicon ? &h->branch : NULL);
}
