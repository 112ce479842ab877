/* The lists of a Kaldi data folder as read from their files, with all faults, for `linnet validate-data`. (The reader
 * of the library stops at the first fault.) */
#ifndef LINNET_TOOL_DATA_LISTS_H
#define LINNET_TOOL_DATA_LISTS_H

#include <stdbool.h>
#include <stddef.h>

#include <linnet/context.h>

enum data_list {
  DATA_WAV,
  DATA_SEGMENTS,
  DATA_TEXT,
  DATA_PHONES,
  DATA_FEATS,
  DATA_FRAMES,
  DATA_SECONDS,
  DATA_LANGUAGE,
  DATA_UNIQUE,
  DATA_VAD,
  DATA_LENGTHS,
  DATA_CHANNELS,
  DATA_UTT2SPK,
  DATA_SPK2UTT,
  DATA_GENDER,
  DATA_CMVN,
  DATA_LISTS
};

/* What the first field of a line names. Without segments each recording is an utterance. */
enum data_key { DATA_UTTERANCE, DATA_RECORDING, DATA_SPEAKER };

struct data_line {
  const char *key, *value; /* the value begins and ends with no space; both "" on an empty line */
  size_t number;           /* counted from 1 */
  bool bad;                /* a check found a fault; --fix drops the line */
};

struct data_file {
  const char *name;
  enum data_key key;
  char *path;               /* NULL: the folder does not have it */
  char *raw, *text;         /* the file, and what lines point into */
  size_t bytes;             /* of raw */
  struct data_line *lines;  /* (count), in the file's order */
  struct data_line **order; /* (sorted), by key, then by line; without empty lines */
  size_t count, sorted;
};

struct data_lists {
  char *folder;
  struct data_file files[DATA_LISTS];
};

/* Reads the lists that exist. False after printing why a file cannot be read; close in either case. */
bool data_lists_open(struct data_lists *lists, const char *folder);
void data_lists_close(struct data_lists *lists);

/* "FOLDER/NAME", to be freed; NULL without memory. */
char *data_lists_path(const struct data_lists *lists, const char *name);

/* The first line with this key that is not bad; NULL: none. */
struct data_line *data_file_find(const struct data_file *file, const char *key);

/* Whether a line has this key, be it bad. */
bool data_file_names(const struct data_file *file, const char *key);

/* The list that names the utterances: the first that exists of utt2spk, segments, wav.scp, feats.scp; NULL: none. */
const struct data_file *data_lists_utterances(const struct data_lists *lists);

/* Copies the next field of a value into `field`, truncated to its size. Returns the rest of the value; NULL: no field
 * is left. */
const char *data_next_field(const char *value, char *field, size_t size);

/* --- transcripts (data_text.c) ------------------------------------------------------------------------------------ */

/* The bytes of a byte order mark of UTF-8 at the beginning of a text; 0: none. */
size_t data_text_mark(const char *text);

/* What is wrong with the characters of a text; NULL: nothing. */
const char *data_text_fault(const char *text);

/* The first word of a text that Kaldi reserves for itself; NULL: none. */
const char *data_text_reserved(const char *text);

/* --- order (data_order.c) ----------------------------------------------------------------------------------------- */

/* Finds the fewest names without which the others are in order. rivals[i] is then another name that name i should not
 * be before or after, and i itself if name i is in its place. False without memory. */
bool data_find_misplaced(const char *const *names, size_t count, size_t *rivals);

/* --- kinds of audio (data_kinds.c) -------------------------------------------------------------------------------- */

enum { DATA_MAX_KINDS = 8 };

/* Initialise it with zeros. */
struct data_kinds {
  struct data_kind {
    double rate;
    size_t channels, recordings;
  } kinds[DATA_MAX_KINDS];
  size_t count, others; /* kinds, and recordings of kinds that found no room */
};

/* Counts a recording. */
void data_kinds_add(struct data_kinds *kinds, double rate, size_t channels);

/* Prints a line if there is more than one kind. */
void data_kinds_print(struct data_kinds *kinds, const char *folder);

/* --- checks (data_check.c) ---------------------------------------------------------------------------------------- */

/* The checks of `linnet validate-data`. Each prints "FILE:LINE: what is wrong; what to do" and marks the bad lines. */

struct data_check_settings {
  size_t max_faults; /* maximum of printed faults per kind and file; others are only counted */
  bool open_audio;   /* open the recordings, besides checking that they exist */
};

/* Runs all checks; returns the number of faults. */
size_t data_check(struct linnet_context *context, struct data_lists *lists, const struct data_check_settings *settings);

/* --- repairs (data_fix.c) ----------------------------------------------------------------------------------------- */

/* What `linnet validate-data --fix` writes. */

/* Keeps the utterances that have a good line in every list; call it after data_check. Sorts the lists, drops all other
 * lines, and makes spk2utt from utt2spk. Files that change are first copied to a new folder, FOLDER/.backup or
 * .backup.1 and so on, then replaced one by one. After an interrupt it can run again. False after printing why it
 * stopped. */
bool data_fix(struct data_lists *lists);

#endif
