/* The inside of a training corpus: its utterances (train_corpus.c), stored features (train_stored.c), and statistics
 * for CMVN (train_statistics.c). */
#ifndef LINNET_TOOL_TRAIN_CORPUS_H
#define LINNET_TOOL_TRAIN_CORPUS_H

#include <pthread.h>

#include <linnet/fbank.h>
#include <linnet/kaldi.h>

#include "common/clip.h"
#include "train_parts.h"

enum { MAX_FOLDERS = 64 };

/* --- stored features (train_stored.c) ----------------------------------------------------------------------------- */

/* Features of a folder without audio. They stay in their archives until an utterance is needed. */

struct stored {
  const struct linnet_data_folder *folder;
  const char *name;                      /* of the folder, for messages */
  const struct linnet_scp *scp;          /* of the recordings' own speed */
  struct linnet_scp *speeds[MAX_SPEEDS]; /* feats-SPEED.scp; NULL for speed 1 */
  bool has_speeds;                       /* all are there */
  size_t *frames;                        /* (utterances of the folder), at their own speed; 0: unknown */
  uint64_t key; /* a hash of the ids, the positions, and the sizes and times of the archives: the data are the same */
};

/* Finds the lengths of all utterances: in utt2num_frames; else in the index that an earlier training left in the
 * folder, if it is of the same archives; else in the archives, of which each rank reads a part, and then rank 0 writes
 * the index. `config` has the speeds; NULL: none. Collective; false after printing why. */
bool stored_open(struct linnet_context *context, struct train_ranks *ranks, const struct linnet_data_folder *folder,
                 const char *name, const struct train_config *config, struct stored *stored);
void stored_close(struct stored *stored);

/* Reads an utterance at speed `speed` of the configuration (MAX_SPEEDS: its own). On failure the sentence is in
 * `context`. */
enum linnet_status stored_read(const struct stored *stored, struct linnet_context *context, size_t utterance,
                               size_t speed, struct linnet_matrix *matrix);

/* Asks the system to read an utterance from its archive into memory meanwhile. */
void stored_prefetch(const struct stored *stored, size_t utterance, size_t speed);

/* FNV-1a, 64 bits. */
uint64_t stored_hash(uint64_t hash, const void *data, size_t bytes);
#define STORED_HASH_START UINT64_C(0xCBF29CE484222325)

/* A small file of results beside the data: FOLDER/NAME, valid for one key only. cache_share: rank 0 reads it, and if
 * there is such a file of this key and size, all ranks get its data (*found). Collective; false if a rank failed. A
 * folder that cannot be written to is not an error. */
bool cache_share(struct train_ranks *ranks, const char *folder, const char *name, uint64_t key, void *data,
                 size_t bytes, bool *found);
void cache_write(const char *folder, const char *name, uint64_t key, const void *data, size_t bytes);

/* --- utterances (train_corpus.c) ---------------------------------------------------------------------------------- */

struct utterance {
  const char *id; /* of its folder */
  uint32_t folder;
  uint32_t speaker;
  size_t index; /* in the folder */
  int *labels;
  size_t num_labels;
  size_t frames;                    /* at its own speed */
  const struct train_phone *phones; /* (num_phones): its alignment; NULL: none */
  size_t num_phones;
  struct clip *audio; /* [0]: as recorded; then one per speed; NULL: features are stored */
};

struct train_corpus {
  struct linnet_context *context;
  struct train_ranks *ranks;
  const struct train_config *config;
  bool augmented;
  struct utterance *utterances;
  size_t count;
  struct linnet_data_folder *folders[MAX_FOLDERS];
  struct stored stored[MAX_FOLDERS]; /* zeros for folders with audio */
  size_t num_folders;
  struct linnet_symbols *speakers;    /* names; speaker 0 stands for no speaker */
  bool targeted;                      /* utterances have alignments */
  const struct linnet_model *teacher; /* NULL: none; then teacher_features are zeros */
  struct linnet_feature_config teacher_features;
  struct linnet_cmvn *statistics; /* one per speaker, or one in all; NULL: statistics per utterance */
  struct linnet_noise_clip *noise;
  size_t num_noise;
  struct linnet_fbank *fbank; /* for counting frames */
  size_t missing, unknown;    /* utterances without labels, or with unknown words */
  pthread_mutex_t mutex;      /* for the progress line */
  struct tool_progress progress;
};

/* Puts the utterances into the order of folders, archives and offsets, for epochs that are shuffled by blocks
 * (train_stored.c). False after printing why. */
bool corpus_sort_by_offset(struct train_corpus *corpus);

/* Features of an utterance without augmentation and normalisation, for `capacity` frames. */
enum linnet_status corpus_plain_features(struct linnet_context *context, const struct train_corpus *corpus,
                                         const struct utterance *utterance, float *features, size_t capacity,
                                         size_t *frames);

#endif
