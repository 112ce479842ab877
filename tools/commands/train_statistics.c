/* Statistics of a training corpus for CMVN. They are computed once, and saved beside the data. Each rank reads a part
 * of the utterances. All add the sums of the utterances in the order of the corpus, so they have the same bytes for
 * every number of ranks and threads. */
#include "train_corpus.h"

#include <stdlib.h>
#include <string.h>

#include <linnet/version.h>

#include "common/parallel.h"

static const char file_name[] = ".linnet-statistics";

/* --- computing ---------------------------------------------------------------------------------------------------- */

/* Utterances of a rank, and of all, before ranks exchange their sums. */
enum { PIECE = 1024, MAX_PIECES = 32 * PIECE };

struct piece {
  struct train_corpus *corpus;
  size_t first, count;      /* utterances of all ranks */
  size_t begin;             /* of these, the first of this rank */
  struct linnet_cmvn *sums; /* (count) */
};

static int task_sum(void *user, size_t task, unsigned worker, struct linnet_context *context) {
  struct piece *piece = user;
  const struct train_corpus *corpus = piece->corpus;
  const struct linnet_feature_config *config = &corpus->config->feature_config;
  const size_t i = piece->begin + task, mel = config->fbank.num_mel;
  const struct utterance *u = &corpus->utterances[piece->first + i];
  size_t frames = 0;
  (void)worker;
  const size_t capacity = u->frames + 8; /* a header may be wrong by some samples */
  float *features = malloc(capacity * mel * sizeof *features);
  if (!features && tool_fail("out of memory for %zu frames", u->frames))
    return TOOL_FAILURE;
  const enum linnet_status status = corpus_plain_features(context, corpus, u, features, capacity, &frames);
  if (status == LINNET_OK) {
    linnet_cmvn_reset(&piece->sums[i], mel);
    linnet_cmvn_accumulate_frames(&piece->sums[i], config->cmvn_frames, features, frames);
  } else if (!tool_interrupted()) {
    tool_fail("utterance %s: cannot compute its statistics for CMVN: %s", u->id, linnet_context_error(context));
  }
  free(features);
  return status == LINNET_OK && !tool_interrupted() ? 0 : TOOL_FAILURE;
}

static bool add_piece(struct linnet_context *context, struct piece *piece, bool by_speaker) {
  struct train_corpus *corpus = piece->corpus;
  size_t end;
  train_ranks_part(corpus->ranks, piece->count, &piece->begin, &end);
  const bool good = tool_parallel(context, end - piece->begin, task_sum, piece) == 0;
  if (!train_ranks_share_parts(corpus->ranks, good, piece->sums, piece->count, sizeof *piece->sums))
    return false;
  for (size_t i = 0; i < piece->count; i++)
    linnet_cmvn_add(&corpus->statistics[by_speaker ? corpus->utterances[piece->first + i].speaker : 0],
                    &piece->sums[i]);
  return true;
}

static bool accumulate(struct linnet_context *context, struct train_corpus *corpus, bool by_speaker) {
  const size_t wanted = PIECE * corpus->ranks->mpi.group.num_ranks, most = wanted < MAX_PIECES ? wanted : MAX_PIECES;
  struct piece piece = {.corpus = corpus, .sums = malloc(most * sizeof *piece.sums)};
  bool good = train_ranks_agree(corpus->ranks, piece.sums || tool_fail("out of memory for the statistics") == TOOL_OK);
  tool_progress_start(&corpus->progress, "statistics", "utterances", (double)corpus->count);
  for (; good && piece.first < corpus->count; piece.first += piece.count) {
    piece.count = corpus->count - piece.first < most ? corpus->count - piece.first : most;
    good = add_piece(context, &piece, by_speaker);
    tool_progress_add(&corpus->progress, (double)piece.count);
  }
  tool_progress_finish(&corpus->progress);
  free(piece.sums);
  return good;
}

/* --- saving ------------------------------------------------------------------------------------------------------- */

/* Changes with how recordings are kept (clip.h). */
static const uint64_t kept = 2;

/* Features of recordings depend on this, too. */
static uint64_t hash_front_end(uint64_t hash, const struct linnet_context *context, const struct train_corpus *corpus) {
  const char *const texts[] = {corpus->config->features, linnet_context_kernels(context), linnet_version()};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    hash = cache_hash(hash, texts[i], strlen(texts[i]) + 1);
  return hash;
}

/* What the statistics depend on; on rank 0. */
static uint64_t compute_key(const struct linnet_context *context, const struct train_corpus *corpus, bool by_speaker) {
  const struct linnet_feature_config *config = &corpus->config->feature_config;
  const uint64_t numbers[] = {by_speaker, config->cmvn_frames, config->fbank.num_mel, sizeof *corpus->statistics, kept};
  uint64_t hash = cache_hash(CACHE_HASH_START, numbers, sizeof numbers);
  for (size_t i = 0; i < corpus->num_folders; i++) {
    const uint64_t keys[] = {corpus->stored[i].key, corpus->audio[i].key};
    hash = cache_hash(hash, keys, sizeof keys);
    if (corpus->audio[i].folder)
      hash = hash_front_end(hash, context, corpus);
  }
  for (size_t i = 0; i < corpus->count; i++) {
    const struct utterance *u = &corpus->utterances[i];
    const uint64_t which[] = {u->folder, u->index, by_speaker ? u->speaker : 0, u->frames};
    hash = cache_hash(hash, which, sizeof which);
  }
  return hash;
}

/* Takes saved statistics, or computes and saves them. */
static bool find_statistics(struct linnet_context *context, struct train_corpus *corpus, bool by_speaker, size_t sets) {
  const size_t bytes = sets * sizeof *corpus->statistics;
  const uint64_t key = compute_key(context, corpus, by_speaker);
  bool found = false;
  if (!cache_share(corpus->ranks, corpus->names[0], file_name, key, corpus->statistics, bytes, &found))
    return false;
  if (found)
    return true;
  if (!accumulate(context, corpus, by_speaker))
    return false;
  if (train_ranks_first(corpus->ranks))
    cache_write(corpus->names[0], file_name, key, corpus->statistics, bytes);
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
