/* The checks of `linnet validate-data`, each with its remedy. */
#include "base/numbers.h"
#include "data_lists.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <linnet/audio.h>
#include <linnet/kaldi.h>

#include "common/tool.h"

enum fault {
  EMPTY_LINE,
  LINE_END,
  MARK,
  CHARACTERS,
  UNSORTED,
  DUPLICATE,
  ABSENT,
  UNKNOWN,
  FIELDS,
  NO_FILE,
  NO_LIST,
  NO_AUDIO,
  OUTSIDE,
  ORDER,
  SPEAKERS,
  FAULTS
};

/* The remedies, with what --fix does of them. */
static const char *const remedies[FAULTS] = {
    [EMPTY_LINE] = "remove the line (--fix does)",
    [LINE_END] = "end each line with one line feed (--fix does)",
    [MARK] = "remove these three bytes (--fix does)",
    [CHARACTERS] = "correct the line, or remove the id from all files (--fix removes it)",
    [UNSORTED] = "sort the file with LC_ALL=C sort (--fix does)",
    [DUPLICATE] = "keep one of the lines (--fix keeps the first)",
    [ABSENT] = "add the line there, or remove the id from all files (--fix removes it)",
    [UNKNOWN] = "remove the line (--fix does), or add the id there",
    [FIELDS] = "correct the line, or remove the id from all files (--fix removes it)",
    [NO_FILE] =
        ("correct the path, or remove the id from all files (--fix removes it); a relative path may start in the "
         "data folder, in one of the two folders above it, or in the current folder"),
    [NO_LIST] = "add the file, or name the right folder",
    [NO_AUDIO] = "replace the file, or remove the id from all files (--fix removes it)",
    [OUTSIDE] = "correct the times, or remove the id from all files (--fix removes it)",
    [ORDER] = "correct the speaker, or begin the ids with the speaker and '-' in all files (--fix does neither)",
    [SPEAKERS] = "make a new spk2utt from utt2spk (--fix does)",
};

struct check {
  struct linnet_context *context;
  struct data_lists *lists;
  const struct data_check_settings *settings;
  size_t counts[DATA_LISTS][FAULTS], total;
  struct data_kinds kinds; /* of the recordings that were opened */
  size_t commands;         /* recordings that are outputs of commands */
};

/* A fault of a line, or of the whole file (NULL). */
__attribute__((format(printf, 5, 6))) static void report(struct check *check, enum data_list list,
                                                         const struct data_line *line, enum fault fault,
                                                         const char *format, ...) {
  char what[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  check->total++;
  if (++check->counts[list][fault] > check->settings->max_faults)
    return;
  const struct data_file *file = &check->lists->files[list];
  printf("%s/%s:", check->lists->folder, file->name);
  if (line)
    printf("%zu:", line->number);
  if (line && *line->key)
    printf(" %.100s", line->key);
  printf(" %s; %s\n", what, remedies[fault]);
}

static void print_rest(const struct data_file *file, const char *folder, size_t count, const char *remedy) {
  printf("%s/%s: %zu more such fault%s; %s\n", folder, file->name, count, linnet_plural(count), remedy);
}

static void report_rest(const struct check *check) {
  for (enum data_list list = 0; list < DATA_LISTS; list++)
    for (enum fault fault = 0; fault < FAULTS; fault++)
      if (check->counts[list][fault] > check->settings->max_faults)
        print_rest(&check->lists->files[list], check->lists->folder,
                   check->counts[list][fault] - check->settings->max_faults, remedies[fault]);
}

/* Prints the error; returns the 1 that it adds to the faults, so that no folder is good that was not checked. */
static size_t out_of_memory(const struct check *check) {
  tool_fail("%s: out of memory", check->lists->folder);
  return 1;
}

/* What is no fault, but good to know. */
static void print_notes(struct check *check) {
  const char *folder = check->lists->folder;
  data_kinds_print(&check->kinds, folder);
  if (check->commands > 0)
    printf("%s/wav.scp: %zu recording%s not run; no fault\n", folder, check->commands,
           check->commands == 1 ? " is the output of a command, which was" : "s are outputs of commands, which were");
}

/* --- every list by itself ----------------------------------------------------------------------------------------- */

/* Reports the fewest lines without which the ids, or the speakers, of the others are in order. A line that stands
 * twice in `lines`, one after the other, counts as two. `lines` is NULL if there was no memory for it. */
static void report_misplaced(struct check *check, enum data_list list, const struct data_line **lines, size_t count,
                             bool by_speaker) {
  const char **names = calloc(count + 1, sizeof *names);
  size_t *rivals = calloc(count + 1, sizeof *rivals);
  for (size_t i = 0; names && lines && i < count; i++)
    names[i] = by_speaker ? lines[i]->value : lines[i]->key;
  if (!lines || !names || !rivals || !data_find_misplaced(names, count, rivals))
    check->total += out_of_memory(check);
  else
    for (size_t i = 0; i < count; i++) {
      const struct data_line *line = lines[i], *other = lines[rivals[i]];
      if (line == other || (i > 0 && line == lines[i - 1]))
        continue;
      if (by_speaker)
        report(check, list, line, ORDER, "has speaker %.100s, but %.100s %s it has %.100s", line->value, other->key,
               rivals[i] < i ? "before" : "after", other->value);
      else
        report(check, list, line, UNSORTED, "comes %s %.100s", rivals[i] < i ? "after" : "before", other->key);
    }
  free(names);
  free(rivals);
}

static void check_order(struct check *check, enum data_list list) {
  const struct data_file *file = &check->lists->files[list];
  const struct data_line **lines = calloc(file->count + 1, sizeof *lines);
  size_t count = 0;
  for (size_t i = 0; lines && i < file->count; i++) {
    struct data_line *line = &file->lines[i];
    line->bad = !*line->key;
    if (line->bad)
      report(check, list, line, EMPTY_LINE, "the line is empty");
    else
      lines[count++] = line;
  }
  report_misplaced(check, list, lines, count, false);
  free(lines);
}

static void check_duplicates(struct check *check, enum data_list list) {
  const struct data_file *file = &check->lists->files[list];
  const struct data_line *first = NULL;
  for (size_t i = 0; i < file->sorted; i++) {
    struct data_line *line = file->order[i];
    if (!first || strcmp(first->key, line->key) != 0) {
      first = line;
      continue;
    }
    line->bad = true;
    report(check, list, line, DUPLICATE, "appears twice, first in line %zu", first->number);
  }
}

/* Carriage returns are usually in all lines: one fault for the file. */
static void check_line_ends(struct check *check, enum data_list list) {
  const struct data_file *file = &check->lists->files[list];
  struct data_line first = {.key = ""}, last = {.key = ""};
  size_t count = 0;
  if (!file->raw)
    return;
  const char *end = file->raw + file->bytes;
  if (data_text_mark(file->raw) > 0)
    report(check, list, NULL, MARK, "begins with the byte order mark of UTF-8");
  for (const char *at = file->raw; at < end;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    last.number++;
    if (memchr(at, '\r', (size_t)((newline ? newline : end) - at)) && count++ == 0)
      first = last;
    at = newline ? newline + 1 : end;
  }
  if (count > 0)
    report(check, list, &first, LINE_END, "carriage returns in %zu of %zu lines, this one first", count, last.number);
  if (file->bytes > 0 && end[-1] != '\n')
    report(check, list, &last, LINE_END, "the last line has no line feed");
}

static void check_transcripts(struct check *check, enum data_list list) {
  struct data_file *file = &check->lists->files[list];
  for (size_t i = 0; i < file->count; i++) {
    struct data_line *line = &file->lines[i];
    const char *fault = data_text_fault(line->key), *word = data_text_reserved(line->value);
    fault = fault ? fault : data_text_fault(line->value);
    if (fault)
      report(check, list, line, CHARACTERS, "%s", fault);
    else if (word)
      report(check, list, line, CHARACTERS, "has the word %s, which Kaldi reserves", word);
    line->bad = line->bad || fault || word;
  }
}

/* --- the values --------------------------------------------------------------------------------------------------- */

static bool one_field(const char *value) {
  return *value && !value[strcspn(value, " \t")];
}

/* A number of seconds above 0. */
static bool is_length(const char *value) {
  char *end;
  double seconds = strtod(value, &end);
  return end > value && !*end && seconds > 0 && seconds < 1e9;
}

/* A number of frames, such as "321", that the library reads. */
static bool is_count(const char *value) {
  const size_t digits = strspn(value, "0123456789");
  return digits > 0 && digits < 10 && !value[digits] && strtol(value, NULL, 10) > 0;
}

/* "file channel", the channel being A or B. */
static bool is_channel(const char *value) {
  const char *channel = value + strcspn(value, " \t");
  channel += strspn(channel, " \t");
  return strcmp(channel, "A") == 0 || strcmp(channel, "B") == 0;
}

/* Describes what is wrong with the form of a value; NULL: nothing. */
static const char *fault_of_value(enum data_list list, const char *value) {
  switch (list) {
  case DATA_WAV:
    return strcmp(value, "|") == 0 ? "has an empty command" : *value ? NULL : "is not followed by a file";
  case DATA_FEATS:
  case DATA_CMVN:
  case DATA_VAD:
    return *value ? NULL : "is not followed by a file";
  case DATA_TEXT:
    return *value ? NULL : "has an empty transcript";
  case DATA_PHONES:
    return *value ? NULL : "has no phones";
  case DATA_SPK2UTT:
    return *value ? NULL : "has no utterances";
  case DATA_UTT2SPK:
    return one_field(value) ? NULL : "is not followed by one speaker";
  case DATA_GENDER:
    return strcmp(value, "m") == 0 || strcmp(value, "f") == 0 ? NULL : "is not followed by m or f";
  case DATA_LANGUAGE:
  case DATA_UNIQUE:
    return *value ? NULL : "is followed by nothing";
  case DATA_SECONDS:
  case DATA_LENGTHS:
    return is_length(value) ? NULL : "is not followed by a number of seconds";
  case DATA_CHANNELS:
    return is_channel(value) ? NULL : "is not followed by a file and A or B";
  case DATA_FRAMES:
    return is_count(value) ? NULL : "is not followed by a number of frames";
  default:
    return NULL;
  }
}

static void check_values(struct check *check, enum data_list list) {
  struct data_file *file = &check->lists->files[list];
  for (size_t i = 0; i < file->sorted; i++) {
    struct data_line *line = file->order[i];
    const char *fault = line->bad ? NULL : fault_of_value(list, line->value);
    if (!fault)
      continue;
    line->bad = true;
    report(check, list, line, FIELDS, "%s", fault);
  }
}

/* --- files that are named ----------------------------------------------------------------------------------------- */

/* Finds a file that a list names, as the library does: relative to the data folder, to the two folders above it, or to
 * the current folder. */
static bool find_file(const struct check *check, const char *name, char *path, size_t size, struct stat *status) {
  static const char *const above[] = {"", "../", "../../"};
  for (size_t i = 0; name[0] != '/' && i < sizeof above / sizeof *above; i++) {
    int length = snprintf(path, size, "%s/%s%s", check->lists->folder, above[i], name);
    if ((size_t)length < size && stat(path, status) == 0)
      return true;
  }
  int length = snprintf(path, size, "%s", name);
  return (size_t)length < size && stat(path, status) == 0;
}

/* Length of the file's name in "FILE:OFFSET" or "FILE"; *offset is 0 if there is none. */
static size_t split_offset(const char *value, unsigned long long *offset) {
  const char *colon = strrchr(value, ':');
  size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
  bool has_offset = digits > 0 && digits < 19 && !colon[1 + digits];
  *offset = has_offset ? strtoull(colon + 1, NULL, 10) : 0;
  return has_offset ? (size_t)(colon - value) : strlen(value);
}

/* Finds a recording: "FILE", or "FILE:OFFSET" in an archive. Then `path` has the offset too. */
static bool find_recording(const struct check *check, const char *value, char *path, size_t size, struct stat *status) {
  unsigned long long offset;
  size_t length = split_offset(value, &offset);
  if (find_file(check, value, path, size, status))
    return true;
  if (!value[length])
    return false;
  char *file = strndup(value, length);
  bool found = file && find_file(check, file, path, size, status) && (unsigned long long)status->st_size > offset;
  free(file);
  size_t end = found ? strlen(path) : 0;
  return found && (size_t)snprintf(path + end, size - end, "%s", value + length) < size - end;
}

/* Opens a recording and returns its length in seconds; negative: unknown, but there are samples. False if it cannot be
 * read, or ends before the length in its header. */
static bool open_recording(struct check *check, const char *path, double *seconds) {
  struct linnet_audio *audio = NULL;
  float sample;
  size_t count = 0;
  if (linnet_audio_open(check->context, path, NULL, &audio) != LINNET_OK)
    return false;
  enum linnet_status status = LINNET_OK;
  *seconds = linnet_audio_seconds(audio);
  if (*seconds < 0)
    status = linnet_audio_read(audio, &sample, 1, &count);
  if (status == LINNET_OK)
    status = linnet_audio_check_end(audio);
  if (status == LINNET_OK)
    data_kinds_add(&check->kinds, linnet_audio_input_rate(audio), linnet_audio_num_input_channels(audio));
  if (status == LINNET_END)
    *seconds = 0;
  linnet_audio_destroy(audio);
  return status == LINNET_OK || status == LINNET_END;
}

/* The length in seconds of each line's recording; negative: unknown. NULL without memory. */
static double *check_recordings(struct check *check) {
  struct data_file *wav = &check->lists->files[DATA_WAV];
  double *seconds = malloc((wav->count + 1) * sizeof *seconds);
  char path[4096];
  struct stat status;
  for (size_t i = 0; seconds && i < wav->count; i++) {
    struct data_line *line = &wav->lines[i];
    size_t length = strlen(line->value);
    seconds[i] = -1;
    const bool is_command = !line->bad && line->value[length - 1] == '|';
    check->commands += is_command;
    if (line->bad || is_command)
      continue;
    line->bad = true;
    if (!find_recording(check, line->value, path, sizeof path, &status))
      report(check, DATA_WAV, line, NO_FILE, "%.300s: %s%s", line->value, strerror(errno),
             strpbrk(line->value, " \t") ? " (a command ends with |)" : "");
    else if (S_ISDIR(status.st_mode))
      report(check, DATA_WAV, line, NO_FILE, "%.300s: is a folder", line->value);
    else if (status.st_size == 0)
      report(check, DATA_WAV, line, NO_AUDIO, "%.300s: is empty", line->value);
    else if (check->settings->open_audio && S_ISREG(status.st_mode) && !open_recording(check, path, &seconds[i]))
      report(check, DATA_WAV, line, NO_AUDIO, "%.400s", linnet_context_error(check->context));
    else if (seconds[i] == 0)
      report(check, DATA_WAV, line, NO_AUDIO, "%.300s: has no samples", line->value);
    else
      line->bad = false;
  }
  return seconds;
}

/* Checks "FILE:OFFSET" or "FILE": the file must exist and be longer than the offset. */
static void check_script(struct check *check, enum data_list list) {
  const struct data_file *file = &check->lists->files[list];
  char path[4096], name[4096];
  struct stat status;
  for (size_t i = 0; i < file->count; i++) {
    struct data_line *line = &file->lines[i];
    unsigned long long offset;
    size_t length = split_offset(line->value, &offset);
    if (line->bad)
      continue;
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : 4095, line->value);
    line->bad = true;
    if (!find_file(check, name, path, sizeof path, &status))
      report(check, list, line, NO_FILE, "%.300s: %s", name, strerror(errno));
    else if (S_ISDIR(status.st_mode))
      report(check, list, line, NO_FILE, "%.300s: is a folder", name);
    else if (line->value[length] && offset >= (unsigned long long)status.st_size)
      report(check, list, line, NO_FILE, "%.300s: ends before byte %llu", name, offset);
    else
      line->bad = false;
  }
}

/* --- segments ----------------------------------------------------------------------------------------------------- */

static bool read_seconds(const char **rest, double *seconds) {
  char field[64], *end;
  *rest = *rest ? data_next_field(*rest, field, sizeof field) : NULL;
  if (!*rest)
    return false;
  *seconds = strtod(field, &end);
  return end > field && !*end && isfinite(*seconds);
}

/* "recording start end"; end -1 is the recording's end. */
static void check_segment(struct check *check, struct data_line *line, const double *seconds) {
  const struct data_file *wav = &check->lists->files[DATA_WAV];
  char recording[LINNET_KALDI_MAX_KEY + 1];
  double start = 0, end = 0;
  const char *rest = data_next_field(line->value, recording, sizeof recording);
  line->bad = true;
  if (!read_seconds(&rest, &start) || !read_seconds(&rest, &end) || *rest) {
    report(check, DATA_SEGMENTS, line, FIELDS, "is not followed by: recording start end");
    return;
  }
  const struct data_line *found = data_file_find(wav, recording);
  double length = found ? seconds[found - wav->lines] : -1;
  if (!found && !data_file_names(wav, recording))
    report(check, DATA_SEGMENTS, line, UNKNOWN, "is part of %.100s, which is missing in wav.scp", recording);
  else if (start < 0 || (end >= 0 && end <= start))
    report(check, DATA_SEGMENTS, line, OUTSIDE, "runs from %g to %g s", start, end);
  else if (length >= 0 && (start >= length || end > length + LINNET_AUDIO_MAX_OVERSHOOT))
    report(check, DATA_SEGMENTS, line, OUTSIDE, "runs from %g to %g s, but %.100s has %g s", start, end, recording,
           length);
  else
    line->bad = !found;
}

/* Marks the recordings of which there are segments, also bad ones. */
static void mark_used(const struct data_file *segments, const struct data_file *wav, bool *used) {
  char recording[LINNET_KALDI_MAX_KEY + 1];
  for (size_t i = 0; i < segments->count; i++) {
    const struct data_line *found = NULL;
    if (data_next_field(segments->lines[i].value, recording, sizeof recording))
      found = data_file_find(wav, recording);
    if (found)
      used[found - wav->lines] = true;
  }
}

static void check_audio(struct check *check) {
  double *seconds = check_recordings(check);
  struct data_file *segments = &check->lists->files[DATA_SEGMENTS], *wav = &check->lists->files[DATA_WAV];
  bool *used = calloc(wav->count + 1, sizeof *used);
  if (!seconds || !used)
    check->total += out_of_memory(check);
  for (size_t i = 0; seconds && i < segments->count; i++)
    if (!segments->lines[i].bad)
      check_segment(check, &segments->lines[i], seconds);
  if (used)
    mark_used(segments, wav, used);
  for (size_t i = 0; used && segments->path && i < wav->count; i++)
    if (!wav->lines[i].bad && !used[i])
      report(check, DATA_WAV, &wav->lines[i], UNKNOWN, "is in no line of segments");
  free(used);
  free(seconds);
}

/* --- speakers ----------------------------------------------------------------------------------------------------- */

/* If the list is sorted by utterance, its speakers must be sorted too: Kaldi's programs read both in parallel. Lines
 * whose ids begin with the speaker are more likely to be right. */
static void check_speaker_order(struct check *check) {
  const struct data_file *utt2spk = &check->lists->files[DATA_UTT2SPK];
  const struct data_line **lines = calloc(2 * utt2spk->sorted + 1, sizeof *lines);
  size_t count = 0;
  for (size_t i = 0; lines && i < utt2spk->sorted; i++) {
    const struct data_line *line = utt2spk->order[i];
    const bool likely = strncmp(line->key, line->value, strlen(line->value)) == 0;
    for (int copy = 0; !line->bad && copy <= likely; copy++)
      lines[count++] = line;
  }
  report_misplaced(check, DATA_UTT2SPK, lines, count, true);
  free(lines);
}

/* The number of ids in a list. */
static size_t count_ids(const struct data_file *file) {
  size_t count = 0;
  for (size_t i = 0; i < file->sorted; i++)
    count += i == 0 || strcmp(file->order[i - 1]->key, file->order[i]->key) != 0;
  return count;
}

/* Each utterance of spk2utt must have the same speaker in utt2spk, if its line there is good. If all have, comparing
 * the counts shows whether one is missing. */
static void check_spk2utt(struct check *check) {
  const struct data_file *utt2spk = &check->lists->files[DATA_UTT2SPK], *spk2utt = &check->lists->files[DATA_SPK2UTT];
  const size_t wanted = count_ids(utt2spk);
  char id[LINNET_KALDI_MAX_KEY + 1];
  size_t named = 0;
  for (size_t i = 0; i < spk2utt->count; i++) {
    const struct data_line *line = &spk2utt->lines[i];
    char before[LINNET_KALDI_MAX_KEY + 1] = "";
    for (const char *at = line->value; (at = data_next_field(at, id, sizeof id)); named++) {
      const struct data_line *found = data_file_find(utt2spk, id);
      if (found ? strcmp(found->value, line->key) != 0 : !data_file_names(utt2spk, id))
        report(check, DATA_SPK2UTT, line, SPEAKERS, "has %.100s, but utt2spk gives it %s%.100s", id,
               found ? "the speaker " : "no ", found ? found->value : "speaker");
      else if (strcmp(id, before) <= 0)
        report(check, DATA_SPK2UTT, line, SPEAKERS, "has %.100s after %.100s", id, before);
      memcpy(before, id, strlen(id) + 1);
    }
  }
  if (named != wanted && check->counts[DATA_SPK2UTT][SPEAKERS] == 0)
    report(check, DATA_SPK2UTT, NULL, SPEAKERS, "has %zu utterance%s, but utt2spk has %zu", named, linnet_plural(named),
           wanted);
}

/* --- the lists among each other ----------------------------------------------------------------------------------- */

/* A bad line is a fault already: the lines of its id in other lists are bad, too, but no faults. */

/* Reports keys of `list` that `all` lacks. */
static void check_known(struct check *check, enum data_list list, const struct data_file *all) {
  const struct data_file *file = &check->lists->files[list];
  for (size_t i = 0; i < file->count; i++) {
    struct data_line *line = &file->lines[i];
    if (line->bad || data_file_find(all, line->key))
      continue;
    line->bad = true;
    if (!data_file_names(all, line->key))
      report(check, list, line, UNKNOWN, "is missing in %s", all->name);
  }
}

/* Reports keys of `all` that `list` lacks. */
static void check_complete(struct check *check, enum data_list list, const struct data_file *all) {
  const struct data_file *file = &check->lists->files[list];
  enum data_list owner = (enum data_list)(all - check->lists->files);
  for (size_t i = 0; i < all->count; i++)
    if (!all->lines[i].bad && !data_file_names(file, all->lines[i].key))
      report(check, owner, &all->lines[i], ABSENT, "has no line in %s", file->name);
}

static void check_utterances(struct check *check) {
  const struct data_file *files = check->lists->files, *all = data_lists_utterances(check->lists);
  for (enum data_list list = 0; list < DATA_LISTS; list++) {
    bool compared = files[list].path && &files[list] != all && files[list].key != DATA_SPEAKER &&
                    !(files[list].key == DATA_RECORDING && files[DATA_SEGMENTS].path);
    if (!compared)
      continue;
    check_known(check, list, all);
    check_complete(check, list, all);
  }
}

/* With segments: whether recordings of other lists are those of wav.scp. */
static void check_recording_lists(struct check *check) {
  static const enum data_list others[] = {DATA_LENGTHS, DATA_CHANNELS};
  const struct data_file *files = check->lists->files;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (files[others[i]].path && files[DATA_SEGMENTS].path && files[DATA_WAV].path) {
      check_known(check, others[i], &files[DATA_WAV]);
      check_complete(check, others[i], &files[DATA_WAV]);
    }
}

/* Reports speakers of utt2spk that `list` lacks, each with one of its utterances. */
static void check_each_speaker(struct check *check, enum data_list list) {
  const struct data_file *utt2spk = &check->lists->files[DATA_UTT2SPK], *file = &check->lists->files[list];
  const char *last = "";
  for (size_t i = 0; i < utt2spk->sorted; i++) {
    const struct data_line *line = utt2spk->order[i];
    if (line->bad || strcmp(line->value, last) == 0)
      continue;
    last = line->value;
    if (!data_file_names(file, last))
      report(check, DATA_UTT2SPK, line, ABSENT, "has speaker %.100s, who has no line in %s", last, file->name);
  }
}

static void check_speakers(struct check *check) {
  static const enum data_list others[] = {DATA_GENDER, DATA_CMVN};
  const struct data_file *files = check->lists->files;
  if (!files[DATA_UTT2SPK].path)
    return;
  check_speaker_order(check);
  if (files[DATA_SPK2UTT].path)
    check_spk2utt(check);
  else
    report(check, DATA_SPK2UTT, NULL, SPEAKERS, "is missing");
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (files[others[i]].path)
      check_each_speaker(check, others[i]);
    if (files[others[i]].path && files[DATA_SPK2UTT].path)
      check_known(check, others[i], &files[DATA_SPK2UTT]);
  }
}

static void check_presence(struct check *check) {
  const struct data_file *files = check->lists->files;
  if (!files[DATA_UTT2SPK].path)
    report(check, DATA_UTT2SPK, NULL, NO_LIST, "is missing: a line 'UTTERANCE SPEAKER' for each utterance");
  if (!files[DATA_WAV].path && !files[DATA_FEATS].path)
    report(check, DATA_WAV, NULL, NO_LIST, "is missing, and so is feats.scp");
  if (files[DATA_SEGMENTS].path && !files[DATA_WAV].path)
    report(check, DATA_WAV, NULL, NO_LIST, "is missing, although there are segments");
  const struct data_file *all = data_lists_utterances(check->lists);
  if (all && all->sorted == 0)
    report(check, (enum data_list)(all - files), NULL, NO_LIST, "names no utterance");
}

size_t data_check(struct linnet_context *context, struct data_lists *lists,
                  const struct data_check_settings *settings) {
  struct check check = {.context = context, .lists = lists, .settings = settings};
  check_presence(&check);
  for (enum data_list list = 0; list < DATA_LISTS; list++) {
    check_line_ends(&check, list);
    check_order(&check, list);
    check_duplicates(&check, list);
    check_values(&check, list);
  }
  check_transcripts(&check, DATA_TEXT);
  check_transcripts(&check, DATA_PHONES);
  check_audio(&check);
  check_script(&check, DATA_FEATS);
  check_script(&check, DATA_VAD);
  check_script(&check, DATA_CMVN);
  if (data_lists_utterances(lists))
    check_utterances(&check);
  check_recording_lists(&check);
  check_speakers(&check);
  report_rest(&check);
  print_notes(&check);
  return check.total;
}
