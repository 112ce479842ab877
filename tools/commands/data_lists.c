/* Reads the lists of a data folder line by line and sorts them, with all their faults. */
#include "data_lists.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/tool.h"

static const struct {
  const char *name;
  enum data_key key;
} kinds[DATA_LISTS] = {
    [DATA_WAV] = {"wav.scp", DATA_RECORDING},      [DATA_SEGMENTS] = {"segments", DATA_UTTERANCE},
    [DATA_TEXT] = {"text", DATA_UTTERANCE},        [DATA_PHONES] = {"phones", DATA_UTTERANCE},
    [DATA_FEATS] = {"feats.scp", DATA_UTTERANCE},  [DATA_FRAMES] = {"utt2num_frames", DATA_UTTERANCE},
    [DATA_SECONDS] = {"utt2dur", DATA_UTTERANCE},  [DATA_LANGUAGE] = {"utt2lang", DATA_UTTERANCE},
    [DATA_UNIQUE] = {"utt2uniq", DATA_UTTERANCE},  [DATA_VAD] = {"vad.scp", DATA_UTTERANCE},
    [DATA_LENGTHS] = {"reco2dur", DATA_RECORDING}, [DATA_CHANNELS] = {"reco2file_and_channel", DATA_RECORDING},
    [DATA_UTT2SPK] = {"utt2spk", DATA_UTTERANCE},  [DATA_SPK2UTT] = {"spk2utt", DATA_SPEAKER},
    [DATA_GENDER] = {"spk2gender", DATA_SPEAKER},  [DATA_CMVN] = {"cmvn.scp", DATA_SPEAKER},
};

char *data_lists_path(const struct data_lists *lists, const char *name) {
  size_t bytes = strlen(lists->folder) + strlen(name) + 2;
  char *path = malloc(bytes);
  if (path)
    snprintf(path, bytes, "%s/%s", lists->folder, name);
  return path;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Whether a file begins with a byte order mark of UTF-16, as text of some programs for Windows does. */
static bool is_utf16(const struct data_file *file) {
  return file->bytes >= 2 && (memcmp(file->raw, "\xFF\xFE", 2) == 0 || memcmp(file->raw, "\xFE\xFF", 2) == 0);
}

/* The file's bytes with a zero at their end. */
static bool load(struct data_file *file) {
  struct stat status;
  FILE *stream = fopen(file->path, "rb");
  bool good = stream && fstat(fileno(stream), &status) == 0 && (file->raw = malloc((size_t)status.st_size + 1));
  if (good) {
    file->bytes = fread(file->raw, 1, (size_t)status.st_size, stream);
    file->raw[file->bytes] = '\0';
    good = !ferror(stream);
  }
  if (!good)
    tool_fail("%s: %s", file->path, strerror(errno));
  if (stream)
    fclose(stream);
  if (good && is_utf16(file))
    return tool_fail("%s: is UTF-16, but should be UTF-8: convert it with iconv -f UTF-16 -t UTF-8", file->path) ==
           TOOL_OK;
  if (good && memchr(file->raw, 0, file->bytes))
    return tool_fail("%s: is binary, but should be text", file->path) == TOOL_OK;
  return good;
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/* Divides [text, end) into key and value. */
static void parse_line(char *text, char *end, struct data_line *line) {
  while (end > text && is_space(end[-1]))
    end--;
  *end = '\0';
  while (is_space(*text))
    text++;
  line->key = text;
  text += strcspn(text, " \t\r");
  if (*text)
    *text++ = '\0';
  while (is_space(*text))
    text++;
  line->value = text;
}

static bool parse(struct data_file *file) {
  size_t lines = 1;
  for (size_t i = 0; i < file->bytes; i++)
    lines += file->raw[i] == '\n';
  file->text = malloc(file->bytes + 1);
  file->lines = calloc(lines, sizeof *file->lines);
  file->order = calloc(lines, sizeof(struct data_line *));
  if (!file->text || !file->lines || !file->order) {
    tool_fail("%s: out of memory", file->path);
    return false;
  }
  memcpy(file->text, file->raw, file->bytes + 1);
  file->count = 0;
  for (char *at = file->text + data_text_mark(file->text), *end = file->text + file->bytes; at < end;) {
    char *newline = memchr(at, '\n', (size_t)(end - at));
    struct data_line *line = &file->lines[file->count++];
    line->number = file->count;
    parse_line(at, newline ? newline : end, line);
    at = newline ? newline + 1 : end;
  }
  return true;
}

static int by_key(const void *a, const void *b) {
  const struct data_line *x = *(struct data_line *const *)a, *y = *(struct data_line *const *)b;
  int order = strcmp(x->key, y->key);
  return order ? order : (x->number > y->number) - (x->number < y->number);
}

static void sort(struct data_file *file) {
  for (size_t i = 0; i < file->count; i++)
    if (*file->lines[i].key)
      file->order[file->sorted++] = &file->lines[i];
  if (file->sorted > 0)
    qsort(file->order, file->sorted, sizeof(struct data_line *), by_key);
}

static bool open_file(struct data_lists *lists, enum data_list list) {
  struct data_file *file = &lists->files[list];
  struct stat status;
  file->name = kinds[list].name;
  file->key = kinds[list].key;
  file->path = data_lists_path(lists, file->name);
  if (!file->path)
    return tool_fail("%s: out of memory", lists->folder) == TOOL_OK;
  if (stat(file->path, &status) != 0 && errno == ENOENT) {
    free(file->path);
    file->path = NULL;
    return true;
  }
  if (!load(file) || !parse(file))
    return false;
  sort(file);
  return true;
}

bool data_lists_open(struct data_lists *lists, const char *folder) {
  struct stat status;
  *lists = (struct data_lists){.folder = strdup(folder)};
  if (!lists->folder || stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))
    return tool_fail("%s: is no folder that can be read", folder) == TOOL_OK;
  size_t length = strlen(folder);
  while (length > 1 && folder[length - 1] == '/')
    lists->folder[--length] = '\0';
  for (enum data_list list = 0; list < DATA_LISTS; list++)
    if (!open_file(lists, list))
      return false;
  return true;
}

void data_lists_close(struct data_lists *lists) {
  for (enum data_list list = 0; list < DATA_LISTS; list++) {
    struct data_file *file = &lists->files[list];
    free(file->path);
    free(file->raw);
    free(file->text);
    free(file->lines);
    free(file->order);
  }
  free(lists->folder);
  *lists = (struct data_lists){.folder = NULL};
}

/* --- looking up --------------------------------------------------------------------------------------------------- */

/* The first line in order[] whose key is not before `key`. */
static size_t find_place(const struct data_file *file, const char *key) {
  size_t low = 0, high = file->sorted;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(file->order[middle]->key, key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

struct data_line *data_file_find(const struct data_file *file, const char *key) {
  for (size_t i = find_place(file, key); i < file->sorted && strcmp(file->order[i]->key, key) == 0; i++)
    if (!file->order[i]->bad)
      return file->order[i];
  return NULL;
}

bool data_file_names(const struct data_file *file, const char *key) {
  const size_t place = find_place(file, key);
  return place < file->sorted && strcmp(file->order[place]->key, key) == 0;
}

const struct data_file *data_lists_utterances(const struct data_lists *lists) {
  static const enum data_list candidates[] = {DATA_UTT2SPK, DATA_SEGMENTS, DATA_WAV, DATA_FEATS};
  for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
    if (lists->files[candidates[i]].path)
      return &lists->files[candidates[i]];
  return NULL;
}

const char *data_next_field(const char *value, char *field, size_t size) {
  size_t length = strcspn(value, " \t");
  if (length == 0)
    return NULL;
  snprintf(field, size, "%.*s", (int)length, value);
  value += length;
  return value + strspn(value, " \t");
}
