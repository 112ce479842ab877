/* Decides which lines of a data folder stay, and writes the corrected files with backups. */
#include "base/numbers.h"
#include "data_lists.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <linnet/kaldi.h>

#include "common/tool.h"

enum { MAX_BACKUPS = 10000 };

struct fix {
  struct data_lists *lists;
  char *texts[DATA_LISTS]; /* the new text of each file; NULL: unchanged */
  char backup[32];         /* the folder within the data folder that holds the old files; "": no old file changes */
};

/* --- which utterances stay ---------------------------------------------------------------------------------------- */

static bool is_kept(const struct data_file *files, const struct data_line *line) {
  for (enum data_list list = 0; list < DATA_LISTS; list++) {
    const struct data_file *file = &files[list];
    bool recordings = file->key == DATA_RECORDING && files[DATA_SEGMENTS].path;
    if (!file->path || recordings || list == DATA_SPK2UTT)
      continue;
    if (!data_file_find(file, file->key == DATA_SPEAKER ? line->value : line->key))
      return false;
  }
  return true;
}

/* Afterwards the good lines of utt2spk are those of the utterances that stay. */
static size_t choose_utterances(struct data_file *files) {
  struct data_file *utt2spk = &files[DATA_UTT2SPK];
  size_t kept = 0;
  for (size_t i = 0; i < utt2spk->sorted; i++) {
    struct data_line *line = utt2spk->order[i];
    line->bad = line->bad || !is_kept(files, line);
    kept += !line->bad;
  }
  return kept;
}

/* --- the new files ------------------------------------------------------------------------------------------------ */

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Marks the lines of `file` whose key is neither a value, nor the first field of a value, of a good line of `from`. */
static bool keep_named(struct data_file *file, const struct data_file *from) {
  char **names = calloc(from->count + 1, sizeof *names), field[LINNET_KALDI_MAX_KEY + 1];
  size_t count = 0;
  bool good = names != NULL;
  for (size_t i = 0; good && i < from->count; i++)
    if (!from->lines[i].bad && data_next_field(from->lines[i].value, field, sizeof field))
      good = (names[count++] = strdup(field)) != NULL;
  if (good && count > 0)
    qsort(names, count, sizeof *names, by_text);
  for (size_t i = 0; good && i < file->count; i++) {
    const char *key = file->lines[i].key;
    file->lines[i].bad |= count == 0 || !bsearch(&key, names, count, sizeof *names, by_text);
  }
  for (size_t i = 0; names && i < count; i++)
    free(names[i]);
  free(names);
  return good;
}

static void keep_utterances(struct data_file *file, const struct data_file *utt2spk) {
  for (size_t i = 0; i < file->sorted; i++)
    file->order[i]->bad |= !data_file_find(utt2spk, file->order[i]->key);
}

static void write_list(FILE *stream, const struct data_file *file) {
  for (size_t i = 0; i < file->sorted; i++)
    if (!file->order[i]->bad)
      fprintf(stream, "%s %s\n", file->order[i]->key, file->order[i]->value);
}

/* By speaker, then by utterance. */
static int by_speaker(const void *a, const void *b) {
  const struct data_line *x = *(struct data_line *const *)a, *y = *(struct data_line *const *)b;
  int order = strcmp(x->value, y->value);
  return order ? order : strcmp(x->key, y->key);
}

static bool write_spk2utt(FILE *stream, const struct data_file *utt2spk) {
  const struct data_line **lines = calloc(utt2spk->sorted + 1, sizeof(const struct data_line *));
  size_t count = 0;
  for (size_t i = 0; lines && i < utt2spk->sorted; i++)
    if (!utt2spk->order[i]->bad)
      lines[count++] = utt2spk->order[i];
  if (count > 0)
    qsort(lines, count, sizeof(const struct data_line *), by_speaker);
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || strcmp(lines[i - 1]->value, lines[i]->value) != 0)
      fprintf(stream, i > 0 ? "\n%s" : "%s", lines[i]->value);
    fprintf(stream, " %s", lines[i]->key);
  }
  if (count > 0)
    fputc('\n', stream);
  free(lines);
  return lines != NULL;
}

/* Marks the lines of a list that do not belong to utterances that stay. */
static bool choose_lines(struct data_file *files, enum data_list list) {
  struct data_file *utt2spk = &files[DATA_UTT2SPK], *segments = &files[DATA_SEGMENTS];
  if (files[list].key == DATA_SPEAKER)
    return keep_named(&files[list], utt2spk);
  if (files[list].key != DATA_RECORDING || !segments->path) {
    keep_utterances(&files[list], utt2spk);
    return true;
  }
  keep_utterances(segments, utt2spk);
  return keep_named(&files[list], segments);
}

static bool make_text(struct fix *fix, enum data_list list) {
  struct data_file *files = fix->lists->files, *file = &files[list];
  size_t bytes = 0;
  bool good = choose_lines(files, list);
  FILE *stream = open_memstream(&fix->texts[list], &bytes);
  if (stream && list == DATA_SPK2UTT)
    good = write_spk2utt(stream, &files[DATA_UTT2SPK]) && good;
  else if (stream)
    write_list(stream, file);
  good = stream && fclose(stream) == 0 && good;
  if (good && file->raw && bytes == file->bytes && memcmp(fix->texts[list], file->raw, bytes) == 0) {
    free(fix->texts[list]);
    fix->texts[list] = NULL;
  }
  return good;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static bool write_file(const char *path, const char *text, size_t bytes) {
  struct tool_output output;
  if (!tool_output_open(&output, path))
    return false;
  fwrite(text, 1, bytes, output.stream);
  return tool_output_commit(&output);
}

/* Whether a file changes that was there before. */
static bool replaces(const struct fix *fix, enum data_list list) {
  return fix->texts[list] && fix->lists->files[list].raw;
}

static bool back_up(const struct fix *fix, enum data_list list) {
  const struct data_file *file = &fix->lists->files[list];
  char name[96];
  if (!replaces(fix, list))
    return true;
  snprintf(name, sizeof name, "%s/%s", fix->backup, file->name);
  char *path = data_lists_path(fix->lists, name);
  bool good = path && write_file(path, file->raw, file->bytes);
  free(path);
  return good;
}

/* Makes .backup, or .backup.1, .backup.2 ... if earlier runs have made the ones before it. */
static bool make_backup(struct fix *fix) {
  int made = -1;
  for (int number = 0; made != 0 && number < MAX_BACKUPS; number++) {
    snprintf(fix->backup, sizeof fix->backup, number > 0 ? ".backup.%d" : ".backup", number);
    char *path = data_lists_path(fix->lists, fix->backup);
    made = path ? mkdir(path, 0777) : -1;
    free(path);
    if (made != 0 && errno != EEXIST)
      break;
  }
  if (made != 0)
    tool_fail("%s/%s: %s; nothing was changed", fix->lists->folder, fix->backup, strerror(errno));
  return made == 0;
}

static bool replace(const struct fix *fix, enum data_list list) {
  if (!fix->texts[list])
    return true;
  char *path = data_lists_path(fix->lists, fix->lists->files[list].name);
  bool good = path && write_file(path, fix->texts[list], strlen(fix->texts[list]));
  free(path);
  return good;
}

static bool write_all(struct fix *fix) {
  bool replaced = false, good = true;
  for (enum data_list list = 0; list < DATA_LISTS; list++)
    replaced = replaced || replaces(fix, list);
  if (replaced)
    good = make_backup(fix);
  for (enum data_list list = 0; good && list < DATA_LISTS; list++)
    good = back_up(fix, list);
  for (enum data_list list = 0; good && list < DATA_LISTS; list++)
    good = replace(fix, list);
  return good;
}

static void print_kept(const struct fix *fix, size_t kept, size_t before) {
  const char *folder = fix->lists->folder;
  printf("%s: kept %zu of %zu utterance%s; ", folder, kept, before, linnet_plural(before));
  if (*fix->backup)
    printf("the files as they were are in %s/%s\n", folder, fix->backup);
  else
    puts("no file that was there changed");
}

bool data_fix(struct data_lists *lists) {
  struct fix fix = {.lists = lists};
  struct data_file *files = lists->files;
  if (!files[DATA_UTT2SPK].path)
    return tool_fail("%s: cannot be fixed without utt2spk", lists->folder) == TOOL_OK;
  size_t before = files[DATA_UTT2SPK].sorted, kept = choose_utterances(files);
  if (kept == 0)
    return tool_fail("%s: no utterance is in all lists: nothing was changed", lists->folder) == TOOL_OK;
  bool good = true;
  for (enum data_list list = 0; good && list < DATA_LISTS; list++)
    if (files[list].path || list == DATA_SPK2UTT)
      good = make_text(&fix, list);
  good = good ? write_all(&fix) : tool_fail("%s: out of memory", lists->folder) == TOOL_OK;
  for (enum data_list list = 0; list < DATA_LISTS; list++)
    free(fix.texts[list]);
  if (good)
    print_kept(&fix, kept, before);
  return good;
}
