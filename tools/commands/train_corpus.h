/* The inside of a training corpus. */
#ifndef LINNET_TOOL_TRAIN_CORPUS_H
#define LINNET_TOOL_TRAIN_CORPUS_H

#include <linnet/fbank.h>
#include <linnet/kaldi.h>

#include "common/clip.h"
#include "train_parts.h"

enum { MAX_FOLDERS = 64 };

/* --- results saved beside the data (train_cache.c) ---------------------------------------------------------------- */

/* FNV-1a, 64 bits; a file counts by its path, size and time. */
#define CACHE_HASH_START UINT64_C(0xCBF29CE484222325)
uint64_t cache_hash(uint64_t hash, const void *data, size_t bytes);
uint64_t cache_hash_file(uint64_t hash, const char *path);

/* A small file of results beside the data: FOLDER/NAME, valid for one key only, which only rank 0 needs. cache_share:
 * rank 0 reads it, and if there is such a file of this key and size, all ranks get its data (*found). Collective; false
 * if a rank failed. A folder that cannot be written to is not an error. */
bool cache_share(struct train_ranks *ranks, const char *folder, const char *name, uint64_t key, void *data,
                 size_t bytes, bool *found);
void cache_write(const char *folder, const char *name, uint64_t key, const void *data, size_t bytes);

/* How to find the lengths of the utterances of a folder, which are zeros at first. */
#define LENGTH_FAILED SIZE_MAX
struct lengths {
  const char *folder, *file; /* where they are saved */
  uint64_t key;
  size_t count;
  size_t *lengths;
  /* Sets those of the utterances begin ... end - 1; LENGTH_FAILED: it cannot be read. */
  void (*measure)(const struct lengths *lengths, struct linnet_context *context, size_t begin, size_t end);
  void *user;
};

/* Takes them from the file that an earlier training left in the folder, if it is of the same key; else each rank
 * measures a part, and rank 0 writes the file unless a length failed. Failed lengths are 0 then: if such an utterance
 * has labels, reading it fails with a message. Collective; false after printing why. */
bool lengths_find(struct linnet_context *context, struct train_ranks *ranks, const struct lengths *lengths);

/* --- stored features (train_stored.c) ----------------------------------------------------------------------------- */

/* Features of a folder without audio. They stay in their archives until an utterance is needed. */

struct stored {
  const struct linnet_data_folder *folder;
  const char *name;                      /* of the folder, for messages */
  const struct linnet_scp *scp;          /* of the recordings' own speed */
  struct linnet_scp *speeds[MAX_SPEEDS]; /* feats-SPEED.scp; NULL for speed 1 */
  bool has_speeds;                       /* all are there */
  size_t *frames;                        /* (utterances of the folder), at their own speed; 0: unknown */
  uint64_t key; /* on rank 0: a hash of the ids, the positions, and the sizes and times of the archives */
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

/* --- clips in memory (train_clips.c) ------------------------------------------------------------------------------ */

/* Clips that are read when they are needed first. Then they stay in memory while there is room; the others are read
 * again each time. Threads may read at the same time. */

typedef enum linnet_status clip_read_fn(const void *user, struct linnet_context *context, size_t index,
                                        struct clip *clip);

struct held_clips {
  struct clip *clips; /* (count); zeros: not in memory */
  size_t count;
  struct train_memory *memory;
  clip_read_fn *read; /* on failure the sentence is in `context` */
  const void *user;
};

/* False after printing that there is no memory. */
bool held_clips_open(struct held_clips *held, size_t count, struct train_memory *memory, clip_read_fn *read,
                     const void *user);
void held_clips_close(struct held_clips *held);

/* If *owned, the caller releases the samples with free. */
enum linnet_status held_clips_read(const struct held_clips *held, struct linnet_context *context, size_t index,
                                   struct clip *clip, bool *owned);

/* Asks the system to read the file of a clip into memory meanwhile, unless the clip is held. */
void held_clips_prefetch(const struct held_clips *held, size_t index, const char *path);

/* --- noise (train_noise.c) ---------------------------------------------------------------------------------------- */

struct noise {
  const char *path;                /* of the list */
  struct linnet_data_folder *list; /* lines "name path" */
  size_t count;                    /* 0: there is no noise */
  uint64_t hash;                   /* of the ids and lengths of its clips */
  double rate;
  struct held_clips clips;
};

/* Opens the list, and reads the header of each clip; each rank those of a part. Collective. False after printing why it
 * failed. */
bool noise_open(struct linnet_context *context, struct train_ranks *ranks, const char *path, double rate,
                struct train_memory *memory, struct noise *noise);
void noise_close(struct noise *noise);

/* Reads a clip; without samples if the index is LINNET_NOT_FOUND. As held_clips_read. */
enum linnet_status noise_read(const struct noise *noise, struct linnet_context *context, size_t index,
                              struct clip *clip, bool *owned);

/* As held_clips_prefetch; nothing if the index is LINNET_NOT_FOUND. */
void noise_prefetch(const struct noise *noise, size_t index);

/* --- recordings (train_audio.c) ----------------------------------------------------------------------------------- */

/* Recordings of a folder, at their own speed. */

struct audio {
  const struct linnet_data_folder *folder;
  double rate;
  size_t *lengths; /* (utterances of the folder), in samples at `rate`; 0: unknown */
  struct held_clips clips;
  uint64_t key; /* on rank 0: a hash of the ids, segments, rate, and the sizes and times of the files */
};

/* Finds the lengths of all utterances: in the index that an earlier training left in the folder, if it is of the same
 * files; else in the headers, of which each rank reads a part. Collective; false after printing why. */
bool audio_open(struct linnet_context *context, struct train_ranks *ranks, const struct linnet_data_folder *folder,
                const char *name, double rate, struct train_memory *memory, struct audio *audio);
void audio_close(struct audio *audio);

/* Reads an utterance, played `speed` times as fast. If *owned, the caller releases the samples with free. On failure
 * the sentence is in `context`. */
enum linnet_status audio_read(const struct audio *audio, struct linnet_context *context, size_t utterance, double speed,
                              struct clip *clip, bool *owned);

/* Asks the system to read the file of an utterance into memory meanwhile. */
void audio_prefetch(const struct audio *audio, size_t utterance);

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
};

/* Different words and how often each of them occurs. */
struct word_counts {
  struct linnet_symbols *names; /* from 1 */
  size_t *times, capacity;      /* (capacity) */
};

struct train_corpus {
  struct linnet_context *context;
  struct train_ranks *ranks;
  const struct train_config *config;
  bool augmented;
  struct utterance *utterances;
  size_t count;
  struct linnet_data_folder *folders[MAX_FOLDERS];
  const char *names[MAX_FOLDERS];    /* of the folders, for messages and saved results */
  struct stored stored[MAX_FOLDERS]; /* zeros for folders with audio */
  struct audio audio[MAX_FOLDERS];   /* zeros for folders with stored features */
  struct train_memories *memories;
  size_t num_folders;
  struct linnet_symbols *speakers;    /* names; speaker 0 stands for no speaker */
  bool targeted;                      /* utterances have alignments */
  const struct linnet_model *teacher; /* NULL: none; then teacher_features are zeros */
  struct linnet_feature_config teacher_features;
  struct linnet_cmvn *statistics; /* one per speaker, or one in all; NULL: statistics per utterance */
  struct noise noise;
  struct linnet_fbank *fbank; /* for counting frames */
  size_t missing, unknown;    /* utterances without labels, or with unknown words */
  struct word_counts words;   /* the unknown ones */
  struct tool_progress progress;
};

/* Puts the utterances into the order of folders, archives and offsets, for epochs that are shuffled by blocks
 * (train_stored.c). False after printing why. */
bool corpus_sort_by_offset(struct train_corpus *corpus);

static inline bool corpus_has_audio(const struct train_corpus *corpus, const struct utterance *utterance) {
  return corpus->audio[utterance->folder].folder != NULL;
}

static inline double corpus_sample_rate(const struct train_corpus *corpus) {
  return corpus->config->feature_config.fbank.sample_rate;
}

/* Seconds from one frame to the next: the filterbank moves by whole samples. */
static inline double corpus_frame_seconds(const struct train_corpus *corpus) {
  return (double)linnet_fbank_shift(corpus->fbank) / corpus_sample_rate(corpus);
}

/* --- transcripts and labels (train_labels.c) ---------------------------------------------------------------------- */

/* The transcripts of a folder: a list that the data folder has in memory, or a file of its own. */
struct transcripts {
  const char *(*line)(const struct linnet_data_folder *folder, size_t utterance); /* NULL: `file` */
  struct linnet_transcripts *file;
  char *copy;          /* of the present line, divided into tokens */
  const char **tokens; /* (length of the line / 2 + 1) */
  size_t capacity;     /* bytes of the copy */
};

/* Opens FOLDER/NAME. False after printing why. */
bool transcripts_open(struct linnet_context *context, const char *folder, const char *name,
                      struct transcripts *transcripts);
void transcripts_close(struct transcripts *transcripts);

/* Sets *tokens to the tokens of an utterance, valid until the next call; NULL: it has no line. False without memory. */
bool transcripts_find(struct transcripts *transcripts, const struct linnet_data_folder *folder, size_t index,
                      const char *const **tokens, size_t *count);

/* Sets the labels of an utterance of a folder, unless it has a word that is *unknown, which is counted. False after
 * printing why. */
bool labels_make(struct utterance *utterance, struct train_labels *labels, const char *folder,
                 const char *const *tokens, size_t count, struct word_counts *words, bool *unknown);

/* Says which words of `name` the lexicon lacks, and how to add those of a folder. */
void words_report(const struct word_counts *words, const struct train_labels *labels, const char *name,
                  const char *folder);
void words_free(struct word_counts *words);

/* --- features (train_features.c) ---------------------------------------------------------------------------------- */

struct linnet_augment_key corpus_augment_key(const struct train_corpus *corpus, uint64_t epoch, size_t utterance);

/* The index of the speed of an utterance in an epoch; MAX_SPEEDS: its own. */
size_t corpus_choose_speed(const struct train_corpus *corpus, size_t utterance, uint64_t epoch);

/* Asks the system to read the clips of noise that an utterance gets in an epoch. */
void corpus_prefetch_noise(const struct train_corpus *corpus, size_t utterance, uint64_t epoch);

/* Features of an utterance without augmentation and normalisation, for `capacity` frames. */
enum linnet_status corpus_plain_features(struct linnet_context *context, const struct train_corpus *corpus,
                                         const struct utterance *utterance, float *features, size_t capacity,
                                         size_t *frames);

/* Whether an utterance can be read; if not, the sentence is in `context`. */
enum linnet_status corpus_check_readable(struct linnet_context *context, const struct train_corpus *corpus,
                                         const struct utterance *utterance);

/* Callbacks of the trainer: augmented and normalised features; and those of the teacher, unless `teacher` is NULL. */
enum linnet_status corpus_features(void *user, struct linnet_context *context, size_t utterance, uint64_t epoch,
                                   float *features, size_t capacity, size_t *frames);
enum linnet_status corpus_both_features(void *user, struct linnet_context *context, size_t utterance, uint64_t epoch,
                                        float *features, float *teacher, size_t capacity, size_t *frames);

/* --- failures in callbacks ---------------------------------------------------------------------------------------- */

/* Stores a sentence in the context of a callback, and returns LINNET_ERROR_FORMAT. Who called it prints the sentence.
 */
enum linnet_status corpus_fail(struct linnet_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
