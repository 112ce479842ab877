/* Kaldi's files: matrices in archives (ark) and script files (scp), and data folders.
 *
 *   struct linnet_ark *ark;
 *   struct linnet_matrix matrix = {0};
 *   const char *key;
 *   enum linnet_status status = linnet_ark_open(context, "feats.ark", &ark);
 *   while (status == LINNET_OK && (status = linnet_ark_next(ark, &key, &matrix)) == LINNET_OK)
 *     use(key, matrix.values, matrix.rows, matrix.cols);
 *   if (status != LINNET_END) fputs(linnet_context_error(context), stderr);
 *   linnet_matrix_release(context, &matrix);
 *   linnet_ark_destroy(ark);
 *
 * Files are untrusted: sizes are checked, and memory grows with the bytes that a file really has. Kaldi allows commands
 * instead of file names ("gunzip -c x.gz |"). The library never runs them; linnet_data_folder_command returns them to
 * the program.
 *
 * An archive does not contain its frame shift. The file ARK.frame_shift beside it has the seconds from one row to the
 * next, like Kaldi's file frame_shift in a data folder. It belongs to the archive; script files have no such file. It
 * may be missing beside archives of other systems.
 *
 * The library looks for relative file names in scp files and wav.scp first in the folder of that file, then in the
 * two folders above, then in the current folder. If a file is in none of them, the error has the first of these names.
 *
 * Threads: a reader or writer of an archive is used from one thread at a time. Script files and data folders are
 * immutable: any number of threads may use one, each with its own context handle.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_KALDI_H
#define LINNET_KALDI_H

#include <stdint.h>

#include <linnet/audio.h>
#include <linnet/cmvn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Hard limits: elements of a matrix (4 GiB of floats), bytes of a key, bytes of a text file of a data folder. */
#define LINNET_KALDI_MAX_ELEMENTS ((size_t)1 << 30)
#define LINNET_KALDI_MAX_KEY 1023
#define LINNET_KALDI_MAX_LIST_BYTES ((size_t)1 << 30)

/* --- Matrices --------------------------------------------------------------------------------------------------- */

/* Initialise it with zeros. Reading into the same matrix again reuses its memory. */
struct linnet_matrix {
  size_t rows, cols;
  float *values;   /* (rows, cols), row-major; memory of the context that read it */
  size_t capacity; /* number of elements that `values` can hold */
};

/* Releases the memory and sets all members to zero. A matrix of zeros is allowed. */
LINNET_API void linnet_matrix_release(struct linnet_context *context, struct linnet_matrix *matrix);

/* --- Archives, read in sequence ----------------------------------------------------------------------------------- */

struct linnet_ark;

/* Opens an archive, binary or text. "-" is standard input; pipes are allowed. */
LINNET_API enum linnet_status linnet_ark_open(struct linnet_context *context, const char *path,
                                              struct linnet_ark **ark);

/* The same from memory, which must stay valid until the archive is destroyed. `data` may be NULL if `bytes` is 0;
 * `name` is for messages and may be NULL. */
LINNET_API enum linnet_status linnet_ark_open_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                     const char *name, struct linnet_ark **ark);

/* Reads the next matrix: float, double, compressed (CM, CM2, CM3) or text. A vector becomes one row. *key is valid
 * until the next call. LINNET_END after the last matrix. After a failure all further calls fail. */
LINNET_API enum linnet_status linnet_ark_next(struct linnet_ark *ark, const char **key, struct linnet_matrix *matrix);

/* Seconds from one row to the next, from the file beside the archive; 0 if there is no such file, as for standard input
 * and memory. LINNET_ERROR_FORMAT, which names the file, if its content is not a number above 0. */
LINNET_API enum linnet_status linnet_ark_frame_shift(const struct linnet_ark *ark, double *seconds);

/* Reads the next matrix as CMVN statistics, 2 x (dim + 1): the sums and the count, then the sums of squares and a
 * zero. */
LINNET_API enum linnet_status linnet_ark_next_cmvn(struct linnet_ark *ark, const char **key, struct linnet_cmvn *cmvn);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_ark_destroy(struct linnet_ark *ark);

/* --- Files that hold one matrix without a key --------------------------------------------------------------------- */

/* `path` is a file, or "file:offset" as in script files, if no file has the whole name. */
LINNET_API enum linnet_status linnet_matrix_read(struct linnet_context *context, const char *path,
                                                 struct linnet_matrix *matrix);
LINNET_API enum linnet_status linnet_cmvn_read(struct linnet_context *context, const char *path,
                                               struct linnet_cmvn *cmvn);

/* Writes binary doubles. An existing file is replaced only when the new one is complete. */
LINNET_API enum linnet_status linnet_cmvn_write(struct linnet_context *context, const char *path,
                                                const struct linnet_cmvn *cmvn);

/* --- Script files: keys and where their matrices lie -------------------------------------------------------------- */

struct linnet_scp;

/* Reads a script file: lines "key file" or "key file:offset". The files are opened when their matrices are read. */
LINNET_API enum linnet_status linnet_scp_open(struct linnet_context *context, const char *path,
                                              struct linnet_scp **scp);

/* Entries are sorted by their keys in the C locale; their order in the file has no effect. */
LINNET_API size_t linnet_scp_num_entries(const struct linnet_scp *scp);
LINNET_API const char *linnet_scp_key(const struct linnet_scp *scp, size_t index);

/* The index of a key, LINNET_NOT_FOUND if it is missing. */
LINNET_API size_t linnet_scp_find(const struct linnet_scp *scp, const char *key);

/* `context` is the caller's handle: it gets the error and allocates the memory. The frame shift is that of the archive
 * that contains the entry. */
LINNET_API enum linnet_status linnet_scp_read(const struct linnet_scp *scp, struct linnet_context *context,
                                              size_t index, struct linnet_matrix *matrix);
LINNET_API enum linnet_status linnet_scp_frame_shift(const struct linnet_scp *scp, struct linnet_context *context,
                                                     size_t index, double *seconds);
LINNET_API enum linnet_status linnet_scp_read_cmvn(const struct linnet_scp *scp, struct linnet_context *context,
                                                   size_t index, struct linnet_cmvn *cmvn);

/* Reads the sizes of a matrix without its values; a matrix in text form is read whole. */
LINNET_API enum linnet_status linnet_scp_size(const struct linnet_scp *scp, struct linnet_context *context,
                                              size_t index, size_t *rows, size_t *cols);

/* The file that contains an entry, and the offset of its matrix in bytes. The path lives as long as the object; NULL if
 * the entry does not exist. Entries in the same file have the same pointer. */
LINNET_API const char *linnet_scp_location(const struct linnet_scp *scp, size_t index, uint64_t *offset);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_scp_destroy(struct linnet_scp *scp);

/* --- Writing ------------------------------------------------------------------------------------------------------ */

enum linnet_kaldi_form {
  LINNET_KALDI_FLOAT = 0,  /* FM: exact */
  LINNET_KALDI_DOUBLE = 1, /* DM */
  LINNET_KALDI_CM = 2,     /* one byte per element, scaled by column quantiles: Kaldi's usual compression of features */
  LINNET_KALDI_CM2 = 3,    /* two bytes per element over the range of the matrix */
  LINNET_KALDI_CM3 = 4,    /* one byte per element over the range of the matrix */
  LINNET_KALDI_TEXT = 5    /* with nine digits: exact */
};

struct linnet_ark_writer;

/* Writes an archive and, unless `scp_path` is NULL, its script file, which contains `ark_path` unchanged. The files get
 * their names only on commit. "-" is standard output, which cannot have a script file. */
LINNET_API enum linnet_status linnet_ark_writer_create(struct linnet_context *context, const char *ark_path,
                                                       const char *scp_path, enum linnet_kaldi_form form,
                                                       struct linnet_ark_writer **writer);

/* Appends values (rows, cols), row-major. Keys must not be empty or contain white space. Compressed forms refuse values
 * that are not finite (LINNET_ERROR_NUMERIC). */
LINNET_API enum linnet_status linnet_ark_write(struct linnet_ark_writer *writer, const char *key, const float *values,
                                               size_t rows, size_t cols);

/* Appends CMVN statistics in double, or as text if the form is text. */
LINNET_API enum linnet_status linnet_ark_write_cmvn(struct linnet_ark_writer *writer, const char *key,
                                                    const struct linnet_cmvn *cmvn);

/* Sets the seconds from one row to the next, above 0. The commit writes them into the file beside the archive. If they
 * are not set, the commit removes such a file of an older archive with the same name. There is no such file for pipes
 * and standard output. */
LINNET_API enum linnet_status linnet_ark_writer_set_frame_shift(struct linnet_ark_writer *writer, double seconds);

/* Completes the files. After that the writer can only be destroyed. */
LINNET_API enum linnet_status linnet_ark_writer_commit(struct linnet_ark_writer *writer);

/* Destroys the object; NULL is allowed. Without a commit it removes what it wrote. */
LINNET_API void linnet_ark_writer_destroy(struct linnet_ark_writer *writer);

/* --- Data folders ------------------------------------------------------------------------------------------------- */

/* A folder with some of these files, whose fields are separated by tabs or spaces:
 *
 *   wav.scp   recording-or-utterance file         segments  utterance recording start end (seconds; end -1: to the end)
 *   feats.scp utterance file.ark:offset           cmvn.scp  speaker file.ark:offset
 *   text      utterance words ...                 phones    utterance phones ...
 *   utt2spk   utterance speaker                   spk2utt   speaker utterances ... (used where utt2spk is missing)
 *   utt2num_frames  utterance frames
 *
 * The utterances are those of wav.scp; if there is also a segments file, those of segments; without wav.scp, those of
 * feats.scp. An utterance without a speaker is a speaker of its own; one that spk2utt lists under several speakers gets
 * the last by name, with a warning. Lines about other utterances are ignored with a warning. */
struct linnet_data_folder;

/* Reads the lists. Audio and matrices are opened later, by the functions that return them. */
LINNET_API enum linnet_status linnet_data_folder_open(struct linnet_context *context, const char *path,
                                                      struct linnet_data_folder **folder);

/* The same for a folder that has only a wav.scp, which may have any name: `path` is this file. */
LINNET_API enum linnet_status linnet_data_folder_open_list(struct linnet_context *context, const char *path,
                                                           struct linnet_data_folder **folder);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_data_folder_destroy(struct linnet_data_folder *folder);

/* Utterances, sorted by their ids in the C locale. Strings live as long as the folder. */
LINNET_API size_t linnet_data_folder_num_utterances(const struct linnet_data_folder *folder);
LINNET_API const char *linnet_data_folder_id(const struct linnet_data_folder *folder, size_t utterance);

/* The index of an id, LINNET_NOT_FOUND if it is missing. */
LINNET_API size_t linnet_data_folder_find(const struct linnet_data_folder *folder, const char *id);

/* Words and phones exactly as in the file; NULL if there are none. */
LINNET_API const char *linnet_data_folder_text(const struct linnet_data_folder *folder, size_t utterance);
LINNET_API const char *linnet_data_folder_phones(const struct linnet_data_folder *folder, size_t utterance);

/* The audio file: NULL if there is no audio or if wav.scp has a command instead. Then ..._command returns the command
 * without its "|"; otherwise it returns NULL. */
LINNET_API const char *linnet_data_folder_path(const struct linnet_data_folder *folder, size_t utterance);
LINNET_API const char *linnet_data_folder_command(const struct linnet_data_folder *folder, size_t utterance);

/* The recording that contains the utterance, as wav.scp names it; NULL without audio. */
LINNET_API const char *linnet_data_folder_recording(const struct linnet_data_folder *folder, size_t utterance);

/* The part of the recording that contains the utterance, in seconds: 0 and -1 (the end) if it is the whole
 * recording. */
LINNET_API void linnet_data_folder_segment(const struct linnet_data_folder *folder, size_t utterance, double *start,
                                           double *end);

/* Speakers, sorted by their names: their number, a name, and the index of the speaker of an utterance. */
LINNET_API size_t linnet_data_folder_num_speakers(const struct linnet_data_folder *folder);
LINNET_API const char *linnet_data_folder_speaker_name(const struct linnet_data_folder *folder, size_t speaker);
LINNET_API size_t linnet_data_folder_speaker(const struct linnet_data_folder *folder, size_t utterance);

/* The audio of an utterance; release it with linnet_audio_release. `settings` may be NULL. */
LINNET_API enum linnet_status linnet_data_folder_audio(const struct linnet_data_folder *folder,
                                                       struct linnet_context *context, size_t utterance,
                                                       const struct linnet_audio_settings *settings, float **samples,
                                                       size_t *count);

/* Whether the folder has feats.scp, and cmvn.scp. */
LINNET_API int linnet_data_folder_has_features(const struct linnet_data_folder *folder);
LINNET_API int linnet_data_folder_has_cmvn(const struct linnet_data_folder *folder);

/* The frames of an utterance as utt2num_frames has them; 0 if the file or the line is missing. Nobody compares them
 * with the features until these are read. */
LINNET_API size_t linnet_data_folder_num_frames(const struct linnet_data_folder *folder, size_t utterance);

/* The folder's feats.scp, which lives as long as the folder; NULL if it has none. */
LINNET_API const struct linnet_scp *linnet_data_folder_scp(const struct linnet_data_folder *folder);

/* Reads the stored features of an utterance, which must be finite, or the stored statistics of a speaker.
 * LINNET_ERROR_STATE if the folder has none. */
LINNET_API enum linnet_status linnet_data_folder_features(const struct linnet_data_folder *folder,
                                                          struct linnet_context *context, size_t utterance,
                                                          struct linnet_matrix *matrix);
LINNET_API enum linnet_status linnet_data_folder_cmvn(const struct linnet_data_folder *folder,
                                                      struct linnet_context *context, size_t speaker,
                                                      struct linnet_cmvn *cmvn);

#ifdef __cplusplus
}
#endif
#endif
