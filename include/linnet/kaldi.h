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
 * Files are untrusted: sizes are checked, memory follows the bytes that are really there. The commands that Kaldi
 * allows in place of file names ("gunzip -c x.gz |") are never run by the library: linnet_data_folder_command hands
 * them out.
 *
 * An archive does not say how long its rows last. The file ARK.frame_shift beside it holds the seconds from one row to
 * the next, as Kaldi's file frame_shift of a data folder holds those of its features. It belongs to the archive; script
 * files have none of their own. Archives of other systems may lack it.
 *
 * File names inside scp files and wav.scp that are relative are looked for beside that file, then in the folder above,
 * then in the current folder; a file that is nowhere is reported by the first of these names.
 *
 * Threads: readers and writers of archives, one thread at a time. Script files and data folders do not change once
 * open: any number of threads may use one, each with its own context handle.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_KALDI_H
#define LINNET_KALDI_H

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

/* Start with zeros; reading into it again reuses its memory. */
struct linnet_matrix {
  size_t rows, cols;
  float *values;   /* (rows, cols), row-major, of the context that read it */
  size_t capacity; /* elements that `values` has room for */
};

/* Back to zeros; harmless on zeros. */
LINNET_API void linnet_matrix_release(struct linnet_context *context, struct linnet_matrix *matrix);

/* --- Archives, read in sequence ----------------------------------------------------------------------------------- */

struct linnet_ark;

/* Opens an archive, binary or text; "-" is standard input; a pipe will do. */
LINNET_API enum linnet_status linnet_ark_open(struct linnet_context *context, const char *path,
                                              struct linnet_ark **ark);

/* From memory, which must stay; `name` is for messages and may be NULL. */
LINNET_API enum linnet_status linnet_ark_open_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                     const char *name, struct linnet_ark **ark);

/* The next matrix: float, double, compressed (CM, CM2, CM3) or text; a vector comes as one row. *key lives until the
 * next call. LINNET_END after the last one. After a failure the archive only fails. */
LINNET_API enum linnet_status linnet_ark_next(struct linnet_ark *ark, const char **key, struct linnet_matrix *matrix);

/* Seconds from one row to the next, from the file beside the archive; 0 if there is none, as for standard input and
 * memory. LINNET_ERROR_FORMAT, naming that file, if it holds anything but a number above 0. */
LINNET_API enum linnet_status linnet_ark_frame_shift(const struct linnet_ark *ark, double *seconds);

/* The next matrix as CMVN statistics: 2 x (dim + 1), the sums and the count, the sums of squares and a zero. */
LINNET_API enum linnet_status linnet_ark_next_cmvn(struct linnet_ark *ark, const char **key, struct linnet_cmvn *cmvn);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_ark_destroy(struct linnet_ark *ark);

/* --- Files that hold one matrix without a key --------------------------------------------------------------------- */

/* `path` is a file, or "file:offset" as in script files. */
LINNET_API enum linnet_status linnet_matrix_read(struct linnet_context *context, const char *path,
                                                 struct linnet_matrix *matrix);
LINNET_API enum linnet_status linnet_cmvn_read(struct linnet_context *context, const char *path,
                                               struct linnet_cmvn *cmvn);

/* Binary, in double; replaces the file only when it is complete. */
LINNET_API enum linnet_status linnet_cmvn_write(struct linnet_context *context, const char *path,
                                                const struct linnet_cmvn *cmvn);

/* --- Script files: keys and where their matrices lie -------------------------------------------------------------- */

struct linnet_scp;

/* Reads a script file: lines "key file" or "key file:offset". The files are opened when their matrices are read. */
LINNET_API enum linnet_status linnet_scp_open(struct linnet_context *context, const char *path,
                                              struct linnet_scp **scp);

/* Entries are in the order of their keys in the C locale, whatever their order in the file. */
LINNET_API size_t linnet_scp_num_entries(const struct linnet_scp *scp);
LINNET_API const char *linnet_scp_key(const struct linnet_scp *scp, size_t index);

/* The index of a key, LINNET_NOT_FOUND if it is not there. */
LINNET_API size_t linnet_scp_find(const struct linnet_scp *scp, const char *key);

/* `context` is the caller's handle; it gets the error and gives the memory. The frame shift is that of the archive
 * where the entry lies. */
LINNET_API enum linnet_status linnet_scp_read(const struct linnet_scp *scp, struct linnet_context *context,
                                              size_t index, struct linnet_matrix *matrix);
LINNET_API enum linnet_status linnet_scp_frame_shift(const struct linnet_scp *scp, struct linnet_context *context,
                                                     size_t index, double *seconds);
LINNET_API enum linnet_status linnet_scp_read_cmvn(const struct linnet_scp *scp, struct linnet_context *context,
                                                   size_t index, struct linnet_cmvn *cmvn);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_scp_destroy(struct linnet_scp *scp);

/* --- Writing ------------------------------------------------------------------------------------------------------ */

enum linnet_kaldi_form {
  LINNET_KALDI_FLOAT = 0,  /* FM: exact */
  LINNET_KALDI_DOUBLE = 1, /* DM */
  LINNET_KALDI_CM = 2,     /* a byte per element, scaled by column quantiles: Kaldi's usual compression of features */
  LINNET_KALDI_CM2 = 3,    /* two bytes per element over the range of the matrix */
  LINNET_KALDI_CM3 = 4,    /* one byte per element over the range of the matrix */
  LINNET_KALDI_TEXT = 5    /* with nine digits: exact */
};

struct linnet_ark_writer;

/* Writes an archive and, unless `scp_path` is NULL, its script file, which names the archive as given here. Both appear
 * under their names only on commit. "-" is standard output, which has no script file. */
LINNET_API enum linnet_status linnet_ark_writer_create(struct linnet_context *context, const char *ark_path,
                                                       const char *scp_path, enum linnet_kaldi_form form,
                                                       struct linnet_ark_writer **writer);

/* Appends values (rows, cols), row-major. Keys are not empty and hold no white space. Compressed forms refuse values
 * that are not finite (LINNET_ERROR_NUMERIC). */
LINNET_API enum linnet_status linnet_ark_write(struct linnet_ark_writer *writer, const char *key, const float *values,
                                               size_t rows, size_t cols);

/* Appends CMVN statistics, in double (text where the form is text). */
LINNET_API enum linnet_status linnet_ark_write_cmvn(struct linnet_ark_writer *writer, const char *key,
                                                    const struct linnet_cmvn *cmvn);

/* Seconds from one row to the next, above 0: the commit writes them beside the archive. Without them it removes what an
 * older archive of the same name has there. Pipes and standard output have nothing beside them. */
LINNET_API enum linnet_status linnet_ark_writer_set_frame_shift(struct linnet_ark_writer *writer, double seconds);

/* Completes the files; nothing can be written afterwards. */
LINNET_API enum linnet_status linnet_ark_writer_commit(struct linnet_ark_writer *writer);

/* Destroys the object, and what it wrote unless it was committed; NULL is allowed. */
LINNET_API void linnet_ark_writer_destroy(struct linnet_ark_writer *writer);

/* --- Data folders ------------------------------------------------------------------------------------------------- */

/* A folder with some of these files, tabs or spaces between their fields:
 *
 *   wav.scp   recording-or-utterance file         segments  utterance recording start end (seconds; end -1: to the end)
 *   feats.scp utterance file.ark:offset           cmvn.scp  speaker file.ark:offset
 *   text      utterance words ...                 phones    utterance phones ...
 *   utt2spk   utterance speaker                   spk2utt   speaker utterances ... (used where utt2spk is missing)
 *
 * The utterances are those of wav.scp, or of segments where there is one too, or without wav.scp those of feats.scp. An
 * utterance without a speaker is its own. Lines about other utterances are left out with a warning. */
struct linnet_data_folder;

/* Reads the lists; audio and matrices are opened when they are asked for. */
LINNET_API enum linnet_status linnet_data_folder_open(struct linnet_context *context, const char *path,
                                                      struct linnet_data_folder **folder);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_data_folder_destroy(struct linnet_data_folder *folder);

/* Utterances, in the order of their ids in the C locale. Strings live as long as the folder. */
LINNET_API size_t linnet_data_folder_num_utterances(const struct linnet_data_folder *folder);
LINNET_API const char *linnet_data_folder_id(const struct linnet_data_folder *folder, size_t utterance);

/* The index of an id, LINNET_NOT_FOUND if it is not there. */
LINNET_API size_t linnet_data_folder_find(const struct linnet_data_folder *folder, const char *id);

/* Words and phones as they stand in the file; NULL where there are none. */
LINNET_API const char *linnet_data_folder_text(const struct linnet_data_folder *folder, size_t utterance);
LINNET_API const char *linnet_data_folder_phones(const struct linnet_data_folder *folder, size_t utterance);

/* The audio file, or NULL: without audio, or where wav.scp gives a command, which is in ..._command (without its "|")
 * and else NULL. */
LINNET_API const char *linnet_data_folder_path(const struct linnet_data_folder *folder, size_t utterance);
LINNET_API const char *linnet_data_folder_command(const struct linnet_data_folder *folder, size_t utterance);

/* The part of the recording that the utterance is, in seconds: 0 and -1 (the end) if it is all of it. */
LINNET_API void linnet_data_folder_segment(const struct linnet_data_folder *folder, size_t utterance, double *start,
                                           double *end);

/* Speakers, in the order of their names. */
LINNET_API size_t linnet_data_folder_num_speakers(const struct linnet_data_folder *folder);
LINNET_API const char *linnet_data_folder_speaker_name(const struct linnet_data_folder *folder, size_t speaker);
LINNET_API size_t linnet_data_folder_speaker(const struct linnet_data_folder *folder, size_t utterance);

/* The audio of an utterance; release it with linnet_audio_release. `settings` may be NULL. */
LINNET_API enum linnet_status linnet_data_folder_audio(const struct linnet_data_folder *folder,
                                                       struct linnet_context *context, size_t utterance,
                                                       const struct linnet_audio_settings *settings, float **samples,
                                                       size_t *count);

/* Whether feats.scp, and cmvn.scp, are there. */
LINNET_API int linnet_data_folder_has_features(const struct linnet_data_folder *folder);
LINNET_API int linnet_data_folder_has_cmvn(const struct linnet_data_folder *folder);

/* Stored features of an utterance, which must be finite; stored statistics of a speaker. LINNET_ERROR_STATE where the
 * folder has none. */
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
