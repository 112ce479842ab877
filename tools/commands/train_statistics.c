/* Statistics of a training corpus for CMVN. They are computed once: those of stored features are saved beside the
 * data. */
#include "train_corpus.h"

#include <stdlib.h>

#include "common/parallel.h"

static const char file_name[] = ".linnet-statistics";

/* --- computing ---------------------------------------------------------------------------------------------------- */

enum { PIECE = 256 }; /* utterances whose features are in memory */

struct piece {
  struct train_corpus *corpus;
  size_t first;
  float *features[PIECE];
  size_t frames[PIECE];
};

static int task_load(void *user, size_t i, unsigned worker, struct linnet_context *context) {
  struct piece *piece = user;
  const struct train_corpus *corpus = piece->corpus;
  const struct utterance *u = &corpus->utterances[piece->first + i];
  size_t mel = corpus->config->feature_config.fbank.num_mel;
  (void)worker;
  piece->features[i] = malloc((u->frames * mel + 1) * sizeof *piece->features[i]);
  if (!piece->features[i] && tool_fail("out of memory for %zu frames", u->frames))
    return TOOL_FAILURE;
  if (corpus_plain_features(context, corpus, u, piece->features[i], u->frames, &piece->frames[i]) == LINNET_OK)
    return 0;
  if (!tool_interrupted())
    tool_fail("utterance %s: cannot compute its statistics for CMVN: %s", u->id, linnet_context_error(context));
  return TOOL_FAILURE;
}

/* Threads load the features. One adds them, in the order of the corpus, so that the sums are always the same. */
static bool add_piece(struct linnet_context *context, struct piece *piece, size_t count, bool by_speaker) {
  struct train_corpus *corpus = piece->corpus;
  bool good = tool_parallel(context, count, task_load, piece) == 0;
  for (size_t i = 0; i < count; i++) {
    const struct utterance *u = &corpus->utterances[piece->first + i];
    if (good)
      linnet_cmvn_accumulate_frames(&corpus->statistics[by_speaker ? u->speaker : 0],
                                    corpus->config->feature_config.cmvn_frames, piece->features[i], piece->frames[i]);
    free(piece->features[i]);
    piece->features[i] = NULL;
  }
  return good;
}

static bool accumulate(struct linnet_context *context, struct train_corpus *corpus, bool by_speaker) {
  struct piece piece = {.corpus = corpus};
  bool good = true;
  tool_progress_start(&corpus->progress, "statistics", "utterances", (double)corpus->count);
  for (; good && piece.first < corpus->count; piece.first += PIECE) {
    size_t count = corpus->count - piece.first < PIECE ? corpus->count - piece.first : PIECE;
    good = add_piece(context, &piece, count, by_speaker) && !tool_interrupted();
    tool_progress_add(&corpus->progress, (double)count);
  }
  tool_progress_finish(&corpus->progress);
  return good;
}

/* --- saving ------------------------------------------------------------------------------------------------------- */

static bool all_stored(const struct train_corpus *corpus) {
  for (size_t i = 0; i < corpus->num_folders; i++)
    if (!corpus->stored[i].scp)
      return false;
  return true;
}

/* What the statistics depend on. */
static uint64_t compute_key(const struct train_corpus *corpus, bool by_speaker) {
  const struct linnet_feature_config *config = &corpus->config->feature_config;
  const uint64_t numbers[] = {by_speaker, config->cmvn_frames, config->fbank.num_mel, sizeof *corpus->statistics};
  uint64_t hash = stored_hash(STORED_HASH_START, numbers, sizeof numbers);
  for (size_t i = 0; i < corpus->num_folders; i++)
    hash = stored_hash(hash, &corpus->stored[i].key, sizeof corpus->stored[i].key);
  for (size_t i = 0; i < corpus->count; i++) {
    const struct utterance *u = &corpus->utterances[i];
    const uint64_t which[] = {u->folder, u->index, by_speaker ? u->speaker : 0, u->frames};
    hash = stored_hash(hash, which, sizeof which);
  }
  return hash;
}

/* Takes saved statistics, or computes and saves them. */
static bool find_statistics(struct linnet_context *context, struct train_corpus *corpus, bool by_speaker, size_t sets) {
  if (!all_stored(corpus))
    return accumulate(context, corpus, by_speaker);
  const char *folder = corpus->stored[0].name;
  const size_t bytes = sets * sizeof *corpus->statistics;
  const uint64_t key = compute_key(corpus, by_speaker);
  struct linnet_cmvn *saved = cache_read(folder, file_name, key, bytes);
  if (saved) {
    free(corpus->statistics);
    corpus->statistics = saved;
    return true;
  }
  if (!accumulate(context, corpus, by_speaker))
    return false;
  cache_write(folder, file_name, key, corpus->statistics, bytes);
  return true;
}

bool train_corpus_normalise(struct linnet_context *context, struct train_corpus *corpus, struct linnet_cmvn *global) {
  const struct linnet_feature_config *config = &corpus->config->feature_config;
  if (config->cmvn == LINNET_CMVN_NONE || config->cmvn == LINNET_CMVN_UTTERANCE)
    return true;
  bool by_speaker = config->cmvn == LINNET_CMVN_SPEAKER;
  size_t sets = by_speaker ? linnet_symbols_num_symbols(corpus->speakers) : 1;
  corpus->statistics = calloc(sets, sizeof *corpus->statistics);
  for (size_t i = 0; corpus->statistics && i < sets; i++)
    linnet_cmvn_reset(&corpus->statistics[i], config->fbank.num_mel);
  bool given = !by_speaker && global->count > 0;
  if (!corpus->statistics) {
    tool_fail("out of memory for the statistics of %zu speakers", sets);
    return false;
  }
  if (!given && !find_statistics(context, corpus, by_speaker, sets))
    return false;
  if (given)
    corpus->statistics[0] = *global;
  else if (!by_speaker)
    *global = corpus->statistics[0];
  return true;
}
