/* Kaldi data folders: their lists, joined by utterance. */
#include <linnet/kaldi.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "base/numbers.h"
#include "frontend/kaldi/table.h"

struct recording {
  char *path;          /* NULL: a command */
  const char *command; /* NULL: a file */
};

struct utterance {
  const char *id, *text, *phones, *speaker_name; /* into the tables */
  size_t speaker;
  size_t recording; /* index into recordings and the table `wav`; none without audio */
  double start, end;
  size_t num_frames; /* of utt2num_frames; 0: unknown */
};

/* The lists, in the order of `list_names`. */
enum list { WAV, SEGMENTS, TEXT, PHONES, UTT2SPK, SPK2UTT, NUM_FRAMES, LISTS };
static const char *const list_names[LISTS] = {"wav.scp", "segments", "text",          "phones",
                                              "utt2spk", "spk2utt",  "utt2num_frames"};

struct linnet_data_folder {
  struct linnet_context *context;
  char *path;
  struct linnet_table lists[LISTS]; /* empty and without a name if the file does not exist */
  struct linnet_scp *features, *cmvn;
  struct recording *recordings; /* (lists[WAV].count) */
  struct utterance *utterances; /* (count), sorted by id */
  size_t count;
  const char **speakers; /* (speaker_count), sorted */
  size_t speaker_count;
};

static enum linnet_status out_of_memory(const struct linnet_data_folder *folder) {
  return linnet_fail(folder->context, LINNET_ERROR_MEMORY, "%s: out of memory", folder->path);
}

/* --- Reading the lists ------------------------------------------------------------------------------------------ */

/* The path of a file in the folder, NULL if there is no memory for it. */
static char *path_in(const struct linnet_data_folder *folder, const char *name) {
  size_t bytes = strlen(folder->path) + strlen(name) + 2;
  char *path = linnet_alloc(folder->context, bytes, 1);
  if (path)
    snprintf(path, bytes, "%s/%s", folder->path, name);
  return path;
}

/* Whether a list is there. A link to a file that is gone is an error: it is a list that somebody meant to have. */
static enum linnet_status find_list(const struct linnet_data_folder *folder, const char *path, bool *there) {
  struct stat status;
  *there = access(path, F_OK) == 0;
  if (*there || lstat(path, &status) != 0)
    return LINNET_OK;
  if (stat(path, &status) == 0 || errno != ENOENT)
    return linnet_fail_errno(folder->context, path, errno);
  return linnet_fail(folder->context, LINNET_ERROR_IO, "%s: is a link to a file that does not exist: mend or remove it",
                     path);
}

static enum linnet_status read_list(struct linnet_data_folder *folder, enum list list) {
  char *path = path_in(folder, list_names[list]);
  if (!path)
    return out_of_memory(folder);
  bool there;
  enum linnet_status status = find_list(folder, path, &there);
  if (status == LINNET_OK && there)
    status = linnet_table_read(folder->context, path, &folder->lists[list]);
  linnet_free(folder->context, path);
  return status;
}

static enum linnet_status read_scp(struct linnet_data_folder *folder, const char *name, struct linnet_scp **scp) {
  char *path = path_in(folder, name);
  if (!path)
    return out_of_memory(folder);
  bool there;
  enum linnet_status status = find_list(folder, path, &there);
  if (status == LINNET_OK && there)
    status = linnet_scp_open(folder->context, path, scp);
  linnet_free(folder->context, path);
  return status;
}

static enum linnet_status read_lists(struct linnet_data_folder *folder) {
  struct stat status;
  if (stat(folder->path, &status) != 0 || !S_ISDIR(status.st_mode))
    return linnet_fail(folder->context, LINNET_ERROR_IO, "%s: cannot be read as a folder", folder->path);
  for (enum list list = 0; list < LISTS; list++)
    LINNET_TRY(read_list(folder, list));
  LINNET_TRY(read_scp(folder, "feats.scp", &folder->features));
  LINNET_TRY(read_scp(folder, "cmvn.scp", &folder->cmvn));
  if (folder->lists[WAV].name || folder->features)
    return LINNET_OK;
  return linnet_fail(folder->context, LINNET_ERROR_FORMAT,
                     "%s: is not a Kaldi data folder: it has neither wav.scp nor feats.scp", folder->path);
}

/* Fails because an entry of a list is wrong: "FILE:LINE: KEY WHAT". */
static enum linnet_status fail_entry(const struct linnet_data_folder *folder, enum list list,
                                     const struct linnet_entry *entry, const char *what) {
  return linnet_fail(folder->context, LINNET_ERROR_FORMAT, "%s:%zu: %.100s %s", folder->lists[list].name, entry->line,
                     entry->key, what);
}

/* --- Recordings -------------------------------------------------------------------------------------------------- */

/* Removes the "|" from the end of a command, in the text of the table. */
static const char *cut_command(const struct linnet_table *table, const char *value) {
  char *text = table->text + (value - table->text), *end = text + strlen(text) - 1;
  while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
    end--;
  *end = '\0';
  return text;
}

/* Resolves "FILE", or "FILE:OFFSET" if no file has the whole name. */
static enum linnet_status find_recording(const struct linnet_data_folder *folder, const char *value, char **path) {
  const char *list = folder->lists[WAV].name;
  uint64_t offset;
  size_t length = linnet_split_offset(value, &offset);
  LINNET_TRY(linnet_relative_path(folder->context, list, value, strlen(value), path));
  if (!value[length] || access(*path, F_OK) == 0)
    return LINNET_OK;
  char *file = NULL;
  linnet_free(folder->context, *path);
  *path = NULL;
  LINNET_TRY(linnet_relative_path(folder->context, list, value, length, &file));
  size_t bytes = strlen(file) + strlen(value + length) + 1;
  *path = linnet_alloc(folder->context, bytes, 1);
  if (*path)
    snprintf(*path, bytes, "%s%s", file, value + length);
  linnet_free(folder->context, file);
  return *path ? LINNET_OK : out_of_memory(folder);
}

static enum linnet_status list_recordings(struct linnet_data_folder *folder) {
  const struct linnet_table *wav = &folder->lists[WAV];
  folder->recordings = linnet_calloc(folder->context, wav->count, sizeof *folder->recordings);
  if (!folder->recordings)
    return out_of_memory(folder);
  for (size_t i = 0; i < wav->count; i++) {
    const struct linnet_entry *entry = &wav->entries[i];
    size_t length = strlen(entry->value);
    if (length == 0)
      return fail_entry(folder, WAV, entry, "is not followed by a file");
    if (entry->value[length - 1] == '|')
      folder->recordings[i].command = cut_command(wav, entry->value);
    else
      LINNET_TRY(find_recording(folder, entry->value, &folder->recordings[i].path));
  }
  return LINNET_OK;
}

/* --- Utterances -------------------------------------------------------------------------------------------------- */

static enum linnet_status make_utterances(struct linnet_data_folder *folder, size_t count) {
  folder->utterances = linnet_calloc(folder->context, count, sizeof *folder->utterances);
  if (!folder->utterances)
    return out_of_memory(folder);
  folder->count = count;
  for (size_t i = 0; i < count; i++)
    folder->utterances[i].end = -1;
  return LINNET_OK;
}

/* The next number of a line, in seconds; false if there is none. */
static bool take_seconds(const char **text, double *seconds) {
  char *end;
  *seconds = strtod(*text, &end);
  bool good = end != *text && isfinite(*seconds) && (*end == ' ' || *end == '\t' || *end == '\0');
  *text = end;
  return good;
}

/* "recording start end" */
static enum linnet_status parse_segment(const struct linnet_data_folder *folder, const struct linnet_entry *entry,
                                        struct utterance *utterance) {
  char recording[LINNET_KALDI_MAX_KEY + 1];
  size_t length = strcspn(entry->value, " \t");
  const char *rest = entry->value + length;
  utterance->id = entry->key;
  if (length == 0 || length > LINNET_KALDI_MAX_KEY || !take_seconds(&rest, &utterance->start) ||
      !take_seconds(&rest, &utterance->end) || rest[strspn(rest, " \t")])
    return fail_entry(folder, SEGMENTS, entry, "is not followed by: recording start end");
  if (utterance->start < 0)
    return fail_entry(folder, SEGMENTS, entry, "starts before 0 seconds");
  if (utterance->end >= 0 && utterance->end <= utterance->start)
    return fail_entry(folder, SEGMENTS, entry, "ends before it starts");
  snprintf(recording, sizeof recording, "%.*s", (int)length, entry->value);
  const struct linnet_table *wav = &folder->lists[WAV];
  const struct linnet_entry *found = linnet_table_find(wav, recording);
  if (!found)
    return fail_entry(folder, SEGMENTS, entry, "is part of a recording that is missing in wav.scp");
  utterance->recording = (size_t)(found - wav->entries);
  return LINNET_OK;
}

static enum linnet_status list_segments(struct linnet_data_folder *folder) {
  const struct linnet_table *segments = &folder->lists[SEGMENTS];
  LINNET_TRY(make_utterances(folder, segments->count));
  struct linnet_c_locale locale;
  if (!linnet_c_locale_enter(&locale))
    return out_of_memory(folder);
  enum linnet_status status = LINNET_OK;
  for (size_t i = 0; i < segments->count && status == LINNET_OK; i++)
    status = parse_segment(folder, &segments->entries[i], &folder->utterances[i]);
  linnet_c_locale_leave(&locale);
  return status;
}

static enum linnet_status list_utterances(struct linnet_data_folder *folder) {
  const struct linnet_table *wav = &folder->lists[WAV];
  if (wav->name && folder->lists[SEGMENTS].name)
    return list_segments(folder);
  LINNET_TRY(make_utterances(folder, wav->name ? wav->count : linnet_scp_num_entries(folder->features)));
  for (size_t i = 0; i < folder->count; i++) {
    folder->utterances[i].id = wav->name ? wav->entries[i].key : linnet_scp_key(folder->features, i);
    folder->utterances[i].recording = i;
  }
  return LINNET_OK;
}

/* "frames", below 10^9 */
static enum linnet_status parse_num_frames(const struct linnet_data_folder *folder, const struct linnet_entry *entry,
                                           struct utterance *utterance) {
  size_t length = strlen(entry->value);
  if (length == 0 || length > 9 || strspn(entry->value, "0123456789") != length)
    return fail_entry(folder, NUM_FRAMES, entry, "is not followed by a number of frames");
  utterance->num_frames = strtoul(entry->value, NULL, 10);
  return LINNET_OK;
}

static enum linnet_status attach_value(const struct linnet_data_folder *folder, enum list list,
                                       const struct linnet_entry *entry, struct utterance *utterance) {
  if (list == TEXT)
    utterance->text = entry->value;
  else if (list == PHONES)
    utterance->phones = entry->value;
  else if (list == UTT2SPK)
    utterance->speaker_name = entry->value;
  else
    return parse_num_frames(folder, entry, utterance);
  return LINNET_OK;
}

static void warn_others(const struct linnet_data_folder *folder, const char *list, size_t others, size_t lines) {
  if (others > 0)
    linnet_log(folder->context, LINNET_LOG_WARNING,
               "%s: %zu of %zu lines name utterances that the data folder does not have", list, others, lines);
}

/* The value of each utterance; lines of others are counted. Both lists are sorted, so one pass joins them. */
static enum linnet_status attach(struct linnet_data_folder *folder, enum list list) {
  const struct linnet_table *table = &folder->lists[list];
  size_t used = 0;
  for (size_t i = 0, e = 0; i < folder->count && e < table->count;) {
    int order = strcmp(folder->utterances[i].id, table->entries[e].key);
    if (order == 0) {
      LINNET_TRY(attach_value(folder, list, &table->entries[e], &folder->utterances[i]));
      used++;
    }
    i += order <= 0;
    e += order >= 0;
  }
  warn_others(folder, table->name, table->count - used, table->count);
  return LINNET_OK;
}

/* Stored features are found when they are read; lines of feats.scp about other utterances are counted. */
static enum linnet_status count_features(const struct linnet_data_folder *folder) {
  const size_t lines = linnet_scp_num_entries(folder->features);
  size_t others = 0;
  for (size_t i = 0; i < lines; i++)
    others += linnet_data_folder_find(folder, linnet_scp_key(folder->features, i)) == LINNET_NOT_FOUND;
  char *path = path_in(folder, "feats.scp");
  if (!path)
    return out_of_memory(folder);
  warn_others(folder, path, others, lines);
  linnet_free(folder->context, path);
  return LINNET_OK;
}

/* --- Speakers ---------------------------------------------------------------------------------------------------- */

static enum linnet_status check_speakers(const struct linnet_data_folder *folder) {
  const struct linnet_table *table = &folder->lists[UTT2SPK];
  for (size_t i = 0; i < table->count; i++)
    if (!table->entries[i].value[0] || strpbrk(table->entries[i].value, " \t"))
      return fail_entry(folder, UTT2SPK, &table->entries[i], "is not followed by one speaker");
  return LINNET_OK;
}

/* Sets the speaker of the utterances of a line of spk2utt. `others` counts the lines that name utterances which the
 * folder does not have; *again: some utterance has another speaker already. */
static void attach_line(struct linnet_data_folder *folder, const struct linnet_entry *entry, size_t *others,
                        bool *again) {
  char id[LINNET_KALDI_MAX_KEY + 1];
  bool known = true;
  for (const char *at = entry->value; *at;) {
    size_t length = strcspn(at, " \t");
    snprintf(id, sizeof id, "%.*s", (int)(length < sizeof id ? length : sizeof id - 1), at);
    size_t i = linnet_data_folder_find(folder, id);
    known = known && i != LINNET_NOT_FOUND;
    if (i != LINNET_NOT_FOUND) {
      *again |= folder->utterances[i].speaker_name && folder->utterances[i].speaker_name != entry->key;
      folder->utterances[i].speaker_name = entry->key;
    }
    at += length;
    at += strspn(at, " \t");
  }
  *others += !known;
}

static void attach_spk2utt(struct linnet_data_folder *folder) {
  const struct linnet_table *table = &folder->lists[SPK2UTT];
  size_t others = 0;
  bool again = false;
  for (size_t i = 0; i < table->count; i++)
    attach_line(folder, &table->entries[i], &others, &again);
  warn_others(folder, table->name, others, table->count);
  if (again)
    linnet_log(folder->context, LINNET_LOG_WARNING,
               "%s: lists some utterances under several speakers: each gets the last of them by name", table->name);
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All utterances have a speaker's name now; makes the sorted list of speakers and the indices. */
static enum linnet_status index_speakers(struct linnet_data_folder *folder) {
  folder->speakers = linnet_alloc(folder->context, folder->count, sizeof *folder->speakers);
  if (!folder->speakers)
    return out_of_memory(folder);
  for (size_t i = 0; i < folder->count; i++)
    folder->speakers[i] = folder->utterances[i].speaker_name;
  qsort(folder->speakers, folder->count, sizeof *folder->speakers, by_name);
  for (size_t i = 0; i < folder->count; i++)
    if (i == 0 || strcmp(folder->speakers[i], folder->speakers[folder->speaker_count - 1]) != 0)
      folder->speakers[folder->speaker_count++] = folder->speakers[i];
  for (size_t i = 0; i < folder->count; i++) {
    const char **found = bsearch(&folder->utterances[i].speaker_name, folder->speakers, folder->speaker_count,
                                 sizeof *folder->speakers, by_name);
    folder->utterances[i].speaker = (size_t)(found - folder->speakers);
  }
  return LINNET_OK;
}

static enum linnet_status attach_speakers(struct linnet_data_folder *folder) {
  LINNET_TRY(check_speakers(folder));
  if (folder->lists[UTT2SPK].name)
    LINNET_TRY(attach(folder, UTT2SPK));
  else
    attach_spk2utt(folder);
  size_t unknown = 0;
  for (size_t i = 0; i < folder->count; i++)
    if (!folder->utterances[i].speaker_name) {
      folder->utterances[i].speaker_name = folder->utterances[i].id;
      unknown++;
    }
  if (unknown > 0 && (folder->lists[UTT2SPK].name || folder->lists[SPK2UTT].name))
    linnet_log(folder->context, LINNET_LOG_WARNING,
               "%s: %zu of %zu utterances have no speaker: each becomes a speaker of its own", folder->path, unknown,
               folder->count);
  return index_speakers(folder);
}

/* --- The object -------------------------------------------------------------------------------------------------- */

static enum linnet_status load(struct linnet_data_folder *folder, bool is_list) {
  LINNET_TRY(is_list ? linnet_table_read(folder->context, folder->path, &folder->lists[WAV]) : read_lists(folder));
  LINNET_TRY(list_recordings(folder));
  LINNET_TRY(list_utterances(folder));
  LINNET_TRY(attach(folder, TEXT));
  LINNET_TRY(attach(folder, PHONES));
  LINNET_TRY(attach(folder, NUM_FRAMES));
  LINNET_TRY(count_features(folder));
  return attach_speakers(folder);
}

static enum linnet_status open_path(struct linnet_context *context, const char *path, bool is_list,
                                    struct linnet_data_folder **result) {
  struct linnet_data_folder *folder = linnet_calloc(context, 1, sizeof *folder);
  if (!folder)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", path);
  folder->context = context;
  folder->path = linnet_strdup(context, path);
  enum linnet_status status =
      folder->path ? load(folder, is_list) : linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", path);
  if (status != LINNET_OK) {
    linnet_data_folder_destroy(folder);
    return status;
  }
  *result = folder;
  return LINNET_OK;
}

enum linnet_status linnet_data_folder_open(struct linnet_context *context, const char *path,
                                           struct linnet_data_folder **result) {
  if (result)
    *result = NULL;
  if (!context || !path || !result)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_data_folder_open: an argument is NULL");
  LINNET_TRY(open_path(context, path, false, result));
  linnet_log(context, LINNET_LOG_INFO, "%s: a data folder of %zu utterance%s", path, (*result)->count,
             linnet_plural((*result)->count));
  return LINNET_OK;
}

enum linnet_status linnet_data_folder_open_list(struct linnet_context *context, const char *path,
                                                struct linnet_data_folder **result) {
  if (result)
    *result = NULL;
  if (!context || !path || !result)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_data_folder_open_list: an argument is NULL");
  return open_path(context, path, true, result);
}

void linnet_data_folder_destroy(struct linnet_data_folder *folder) {
  if (!folder)
    return;
  struct linnet_context *context = folder->context;
  for (size_t i = 0; i < folder->lists[WAV].count && folder->recordings; i++)
    linnet_free(context, folder->recordings[i].path);
  for (enum list list = 0; list < LISTS; list++)
    linnet_table_release(&folder->lists[list]);
  linnet_scp_destroy(folder->features);
  linnet_scp_destroy(folder->cmvn);
  linnet_free(context, folder->recordings);
  linnet_free(context, folder->utterances);
  linnet_free(context, folder->speakers);
  linnet_free(context, folder->path);
  linnet_free(context, folder);
}

/* --- What is in it ----------------------------------------------------------------------------------------------- */

size_t linnet_data_folder_num_utterances(const struct linnet_data_folder *folder) {
  return folder ? folder->count : 0;
}

/* NULL out of range. */
static const struct utterance *utterance_at(const struct linnet_data_folder *folder, size_t index) {
  return folder && index < folder->count ? &folder->utterances[index] : NULL;
}

static const struct recording *recording_at(const struct linnet_data_folder *folder, size_t index) {
  const struct utterance *utterance = utterance_at(folder, index);
  return utterance && folder->lists[WAV].name ? &folder->recordings[utterance->recording] : NULL;
}

const char *linnet_data_folder_id(const struct linnet_data_folder *folder, size_t utterance) {
  const struct utterance *u = utterance_at(folder, utterance);
  return u ? u->id : NULL;
}

static int compare_id(const void *id, const void *utterance) {
  return strcmp(id, ((const struct utterance *)utterance)->id);
}

size_t linnet_data_folder_find(const struct linnet_data_folder *folder, const char *id) {
  if (!folder || !id || folder->count == 0)
    return LINNET_NOT_FOUND;
  const struct utterance *found =
      bsearch(id, folder->utterances, folder->count, sizeof *folder->utterances, compare_id);
  return found ? (size_t)(found - folder->utterances) : LINNET_NOT_FOUND;
}

const char *linnet_data_folder_text(const struct linnet_data_folder *folder, size_t utterance) {
  const struct utterance *u = utterance_at(folder, utterance);
  return u ? u->text : NULL;
}

const char *linnet_data_folder_phones(const struct linnet_data_folder *folder, size_t utterance) {
  const struct utterance *u = utterance_at(folder, utterance);
  return u ? u->phones : NULL;
}

const char *linnet_data_folder_path(const struct linnet_data_folder *folder, size_t utterance) {
  const struct recording *recording = recording_at(folder, utterance);
  return recording ? recording->path : NULL;
}

const char *linnet_data_folder_command(const struct linnet_data_folder *folder, size_t utterance) {
  const struct recording *recording = recording_at(folder, utterance);
  return recording ? recording->command : NULL;
}

const char *linnet_data_folder_recording(const struct linnet_data_folder *folder, size_t utterance) {
  return recording_at(folder, utterance) ? folder->lists[WAV].entries[folder->utterances[utterance].recording].key
                                         : NULL;
}

void linnet_data_folder_segment(const struct linnet_data_folder *folder, size_t utterance, double *start, double *end) {
  const struct utterance *u = utterance_at(folder, utterance);
  *start = u ? u->start : 0;
  *end = u ? u->end : -1;
}

size_t linnet_data_folder_num_speakers(const struct linnet_data_folder *folder) {
  return folder ? folder->speaker_count : 0;
}

const char *linnet_data_folder_speaker_name(const struct linnet_data_folder *folder, size_t speaker) {
  return folder && speaker < folder->speaker_count ? folder->speakers[speaker] : NULL;
}

size_t linnet_data_folder_speaker(const struct linnet_data_folder *folder, size_t utterance) {
  const struct utterance *u = utterance_at(folder, utterance);
  return u ? u->speaker : linnet_data_folder_num_speakers(folder);
}

size_t linnet_data_folder_num_frames(const struct linnet_data_folder *folder, size_t utterance) {
  const struct utterance *u = utterance_at(folder, utterance);
  return u ? u->num_frames : 0;
}

const struct linnet_scp *linnet_data_folder_scp(const struct linnet_data_folder *folder) {
  return folder ? folder->features : NULL;
}

int linnet_data_folder_has_features(const struct linnet_data_folder *folder) {
  return folder && folder->features;
}

int linnet_data_folder_has_cmvn(const struct linnet_data_folder *folder) {
  return folder && folder->cmvn;
}

/* --- Loading ----------------------------------------------------------------------------------------------------- */

/* Puts the id of the utterance before the context's error message. */
static enum linnet_status name_utterance(struct linnet_context *context, const char *id, enum linnet_status status) {
  char sentence[LINNET_ERROR_BYTES];
  snprintf(sentence, sizeof sentence, "%s", linnet_context_error(context));
  return linnet_fail(context, status, "%.100s: %s", id, sentence);
}

static enum linnet_status read_audio(const struct utterance *utterance, struct linnet_context *context,
                                     const char *path, const struct linnet_audio_settings *settings, float **samples,
                                     size_t *count) {
  struct linnet_audio *audio;
  LINNET_TRY(linnet_audio_open(context, path, settings, &audio));
  enum linnet_status status = LINNET_OK;
  if (utterance->start > 0 || utterance->end >= 0)
    status = linnet_audio_select(audio, utterance->start, utterance->end);
  if (status == LINNET_OK)
    status = linnet_audio_read_all(audio, samples, count);
  linnet_audio_destroy(audio);
  return status;
}

enum linnet_status linnet_data_folder_audio(const struct linnet_data_folder *folder, struct linnet_context *context,
                                            size_t utterance, const struct linnet_audio_settings *settings,
                                            float **samples, size_t *count) {
  const struct utterance *u = utterance_at(folder, utterance);
  if (samples)
    *samples = NULL;
  if (!u || !context || !samples || !count)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_data_folder_audio: an argument is NULL, or the utterance does not exist");
  *count = 0;
  const struct recording *recording = recording_at(folder, utterance);
  if (!recording)
    return linnet_fail(context, LINNET_ERROR_STATE, "%.100s: %s has no wav.scp", u->id, folder->path);
  if (recording->command)
    return linnet_fail(context, LINNET_ERROR_UNSUPPORTED,
                       "%s:%zu: the audio of %.100s is the output of a command, which the library does not run: write "
                       "the output to a file and name that file",
                       folder->lists[WAV].name, folder->lists[WAV].entries[u->recording].line, u->id);
  enum linnet_status status = read_audio(u, context, recording->path, settings, samples, count);
  return status == LINNET_OK ? status : name_utterance(context, u->id, status);
}

static enum linnet_status check_finite(struct linnet_context *context, const char *id,
                                       const struct linnet_matrix *matrix) {
  for (size_t i = 0; i < matrix->rows * matrix->cols; i++)
    if (!isfinite(matrix->values[i]))
      return linnet_fail(context, LINNET_ERROR_FORMAT,
                         "%.100s: its stored features are not finite (row %zu, column %zu)", id, i / matrix->cols,
                         i % matrix->cols);
  return LINNET_OK;
}

enum linnet_status linnet_data_folder_features(const struct linnet_data_folder *folder, struct linnet_context *context,
                                               size_t utterance, struct linnet_matrix *matrix) {
  const struct utterance *u = utterance_at(folder, utterance);
  if (!u || !context || !matrix)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_data_folder_features: an argument is NULL, or the utterance does not exist");
  if (!folder->features)
    return linnet_fail(context, LINNET_ERROR_STATE, "%s has no feats.scp: make it with 'linnet features'",
                       folder->path);
  size_t index = linnet_scp_find(folder->features, u->id);
  if (index == LINNET_NOT_FOUND)
    return linnet_fail(context, LINNET_ERROR_FORMAT, "%.100s: is missing in feats.scp of %s", u->id, folder->path);
  LINNET_TRY(linnet_scp_read(folder->features, context, index, matrix));
  return check_finite(context, u->id, matrix);
}

enum linnet_status linnet_data_folder_cmvn(const struct linnet_data_folder *folder, struct linnet_context *context,
                                           size_t speaker, struct linnet_cmvn *cmvn) {
  const char *name = linnet_data_folder_speaker_name(folder, speaker);
  if (!name || !context || !cmvn)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_data_folder_cmvn: an argument is NULL, or the speaker does not exist");
  if (!folder->cmvn)
    return linnet_fail(context, LINNET_ERROR_STATE, "%s has no cmvn.scp", folder->path);
  size_t index = linnet_scp_find(folder->cmvn, name);
  if (index == LINNET_NOT_FOUND)
    return linnet_fail(context, LINNET_ERROR_FORMAT, "speaker %.100s is missing in cmvn.scp of %s", name, folder->path);
  return linnet_scp_read_cmvn(folder->cmvn, context, index, cmvn);
}
