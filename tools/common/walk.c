/* Collects the audio files of a command line, walking folders with --recursive. */
#include "inputs.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/numbers.h"
#include "tool.h"

/* Extensions of the formats that libsndfile reads, and of SPHERE files as on LDC's discs. */
static const char *const extensions[] = {"wav",  "flac", "mp3", "ogg",  "oga",  "opus", "sph",
                                         "nist", "wv1",  "wv2", "aif",  "aiff", "aifc", "au",
                                         "snd",  "caf",  "w64", "rf64", "voc",  "sf",   "paf"};

/* Those of other formats with sound. */
static const char *const others[] = {"m4a",  "m4b", "mp4", "mov", "3gp", "aac", "amr", "wma", "asf",
                                     "webm", "mkv", "mka", "ape", "wv",  "tta", "ac3", "dts"};

static bool ends_in(const char *name, const char *const *list, size_t count) {
  const char *dot = strrchr(name, '.');
  for (size_t i = 0; dot && i < count; i++)
    if (strcasecmp(dot + 1, list[i]) == 0)
      return true;
  return false;
}

bool walk_is_audio(const char *name) {
  return ends_in(name, extensions, sizeof extensions / sizeof *extensions);
}

/* Counts a file whose format is not supported; keeps the name of the first. */
static void note_other(struct walk *walk, const char *path) {
  if (walk->num_others++ == 0)
    snprintf(walk->other, sizeof walk->other, "%s", path);
}

static bool add(struct walk *walk, const char *path, size_t root) {
  if (walk->count == walk->capacity) {
    size_t capacity = 2 * walk->capacity + 64;
    char **paths = realloc(walk->paths, capacity * sizeof *paths);
    walk->paths = paths ? paths : walk->paths;
    size_t *roots = paths ? realloc(walk->roots, capacity * sizeof *roots) : NULL;
    walk->roots = roots ? roots : walk->roots;
    walk->capacity = roots ? capacity : walk->capacity;
  }
  char *copy = walk->count < walk->capacity ? strdup(path) : NULL;
  if (!copy) {
    tool_fail("%s: out of memory for the names of files", path);
    return false;
  }
  walk->roots[walk->count] = root;
  walk->paths[walk->count++] = copy;
  return true;
}

/* --- folders ------------------------------------------------------------------------------------------------------ */

static int by_name(const FTSENT **a, const FTSENT **b) {
  return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Handles an entry of a folder whose path has `length` bytes; false without memory, with a message. */
static bool visit(struct walk *walk, FTS *tree, FTSENT *entry, size_t length, bool all) {
  if (entry->fts_level > 0 && entry->fts_name[0] == '.') {
    fts_set(tree, entry, FTS_SKIP);
    return true;
  }
  const bool hidden = entry->fts_info == FTS_NS && entry->fts_level > 0; /* in a folder without the right to search */
  if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || (entry->fts_info == FTS_NS && !hidden)) {
    tool_fail("%s: cannot read the folder: %s", entry->fts_path, strerror(entry->fts_errno));
    walk->num_failed++;
    return true;
  }
  const bool dangling = (hidden || entry->fts_info == FTS_SLNONE) && walk_is_audio(entry->fts_name);
  if (entry->fts_info != FTS_F && !dangling) /* opening a dangling name tells why it fails */
    return true;
  if (!all && !walk_is_audio(entry->fts_name)) {
    if (ends_in(entry->fts_name, others, sizeof others / sizeof *others))
      note_other(walk, entry->fts_path);
    return true;
  }
  return add(walk, entry->fts_path, length + (entry->fts_path[length - 1] != '/'));
}

static bool walk_folder(struct walk *walk, const char *path, bool all) {
  char *roots[] = {(char *)(uintptr_t)path, NULL};
  const size_t before = walk->count, failed = walk->num_failed;
  bool good = true;
  FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
  for (FTSENT *entry; good && tree && (entry = fts_read(tree));)
    good = visit(walk, tree, entry, strlen(path), all);
  if (!tree || (good && errno != 0)) {
    tool_fail("%s: cannot read the folder: %s", path, strerror(errno));
    walk->num_failed++;
  }
  if (tree)
    fts_close(tree);
  if (good && walk->count == before && walk->num_failed == failed) {
    tool_fail("%s: this folder has no audio file: names must end in .wav, .flac, .mp3, .ogg, .sph, ...", path);
    walk->num_failed++;
  }
  return good;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static bool is_folder(const char *path) {
  struct stat status;
  return strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static void warn_of_others(const struct walk *walk) {
  if (walk->num_others > 0)
    tool_warn("skipped %zu file%s whose format is not supported, such as %s: convert them, for example with ffmpeg",
              walk->num_others, linnet_plural(walk->num_others), walk->other);
}

bool walk_paths(struct walk *walk, const char **paths, size_t count, bool recursive, bool all) {
  *walk = (struct walk){.paths = NULL};
  for (size_t i = 0; i < count; i++) {
    bool folder = is_folder(paths[i]);
    if (folder && !recursive) {
      tool_usage("%s: is a folder: use --recursive for the audio files in it, or --data for a Kaldi data folder",
                 paths[i]);
      walk->misused = true;
      return false;
    }
    if (!(folder ? walk_folder(walk, paths[i], all) : add(walk, paths[i], 0))) {
      warn_of_others(walk);
      return false;
    }
  }
  warn_of_others(walk);
  return true;
}

void walk_release(struct walk *walk) {
  for (size_t i = 0; i < walk->count; i++)
    free(walk->paths[i]);
  free(walk->paths);
  free(walk->roots);
  *walk = (struct walk){.paths = NULL};
}
