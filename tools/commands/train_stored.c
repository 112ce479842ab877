/* Stored features of a training: lengths, other speeds, and reading by position. */
#include "train_corpus.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- lengths ------------------------------------------------------------------------------------------------------ */

static uint64_t compute_key(const struct stored *s) {
  uint64_t hash = CACHE_HASH_START, offset = 0;
  const char *last = NULL;
  for (size_t i = 0; i < linnet_scp_num_entries(s->scp); i++) {
    const char *id = linnet_scp_key(s->scp, i), *path = linnet_scp_location(s->scp, i, &offset);
    hash = cache_hash(hash, id, strlen(id) + 1);
    hash = cache_hash(hash, &offset, sizeof offset);
    if (path != last)
      hash = cache_hash_file(hash, path);
    last = path;
  }
  return hash;
}

static bool take_num_frames(struct stored *s, size_t count) {
  size_t known = 0;
  for (size_t i = 0; i < count; i++)
    known += (s->frames[i] = linnet_data_folder_num_frames(s->folder, i)) > 0;
  if (known < count)
    memset(s->frames, 0, count * sizeof *s->frames);
  return known == count;
}

/* Reads the headers of the matrices. */
static void measure(const struct lengths *lengths, struct linnet_context *context, size_t begin, size_t end) {
  const struct stored *s = lengths->user;
  size_t columns;
  for (size_t i = begin; i < end && !tool_interrupted(); i++) {
    size_t entry = linnet_scp_find(s->scp, linnet_data_folder_id(s->folder, i));
    if (entry != LINNET_NOT_FOUND && linnet_scp_size(s->scp, context, entry, &s->frames[i], &columns) != LINNET_OK)
      s->frames[i] = LENGTH_FAILED;
  }
}

/* --- speeds ------------------------------------------------------------------------------------------------------- */

/* Opens the lists of the other speeds, if the folder has them all. */
static bool open_speeds(struct linnet_context *context, const struct train_config *config, struct stored *s) {
  char path[4096];
  size_t missing = 0;
  for (size_t i = 0; i < config->num_speeds; i++) {
    snprintf(path, sizeof path, "%s/feats-%.6g.scp", s->name, config->speeds[i]);
    if (config->speeds[i] == 1)
      continue;
    if (access(path, F_OK) != 0)
      missing++;
    else if (linnet_scp_open(context, path, &s->speeds[i]) != LINNET_OK)
      return tool_fail_context(context) == TOOL_OK;
  }
  s->has_speeds = config->num_speeds > 0 && missing == 0;
  if (missing > 0)
    tool_warn("%s: stored features of %zu of the speeds are missing (feats-SPEED.scp): their own speed is used",
              s->name, missing);
  return true;
}

/* --- the object --------------------------------------------------------------------------------------------------- */

bool stored_open(struct linnet_context *context, struct train_ranks *ranks, const struct linnet_data_folder *folder,
                 const char *name, const struct train_config *config, struct stored *s) {
  size_t count = linnet_data_folder_num_utterances(folder);
  *s = (struct stored){.folder = folder, .name = name, .scp = linnet_data_folder_scp(folder)};
  s->frames = calloc(count + 1, sizeof *s->frames);
  if (!s->frames) {
    tool_fail("out of memory for %zu utterances", count);
    return false;
  }
  if (config && !open_speeds(context, config, s))
    return false;
  if (train_ranks_first(ranks))
    s->key = compute_key(s);
  const struct lengths lengths = {name, ".linnet-lengths", s->key, count, s->frames, measure, s};
  return take_num_frames(s, count) || lengths_find(context, ranks, &lengths);
}

void stored_close(struct stored *s) {
  for (size_t i = 0; i < MAX_SPEEDS; i++)
    linnet_scp_destroy(s->speeds[i]);
  free(s->frames);
  *s = (struct stored){0};
}

static const struct linnet_scp *list_of(const struct stored *s, size_t speed) {
  return speed < MAX_SPEEDS && s->speeds[speed] ? s->speeds[speed] : s->scp;
}

static bool is_finite(const struct linnet_matrix *matrix) {
  for (size_t i = 0; i < matrix->rows * matrix->cols; i++)
    if (!isfinite(matrix->values[i]))
      return false;
  return true;
}

enum linnet_status stored_read(const struct stored *s, struct linnet_context *context, size_t utterance, size_t speed,
                               struct linnet_matrix *matrix) {
  const struct linnet_scp *list = list_of(s, speed);
  const char *id = linnet_data_folder_id(s->folder, utterance);
  if (list == s->scp)
    return linnet_data_folder_features(s->folder, context, utterance, matrix);
  size_t entry = linnet_scp_find(list, id);
  if (entry == LINNET_NOT_FOUND)
    return corpus_fail(context, "utterance %s: is missing in a feats-SPEED.scp of %s: make these lists again", id,
                       s->name);
  enum linnet_status status = linnet_scp_read(list, context, entry, matrix);
  if (status != LINNET_OK || is_finite(matrix))
    return status;
  return corpus_fail(context, "utterance %s: its stored features are not finite", id);
}

/* The bytes of an entry, if the next one follows it in the archive; else 0. */
static uint64_t bytes_of(const struct linnet_scp *list, size_t entry, const char *path, uint64_t offset) {
  uint64_t next = 0;
  return linnet_scp_location(list, entry + 1, &next) == path && next > offset ? next - offset : 0;
}

void stored_prefetch(const struct stored *s, size_t utterance, size_t speed) {
  const struct linnet_scp *list = list_of(s, speed);
  size_t entry = linnet_scp_find(list, linnet_data_folder_id(s->folder, utterance));
  uint64_t offset = 0;
  const char *path = entry == LINNET_NOT_FOUND ? NULL : linnet_scp_location(list, entry, &offset);
  uint64_t bytes = path ? bytes_of(list, entry, path, offset) : 0, most = s->frames[utterance] * 512 + 4096;
  int descriptor = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (descriptor < 0)
    return;
  posix_fadvise(descriptor, (off_t)offset, (off_t)(bytes > 0 && bytes < most ? bytes : most), POSIX_FADV_WILLNEED);
  close(descriptor);
}

/* --- the order of the archives ------------------------------------------------------------------------------------ */

struct position {
  struct utterance utterance;
  const char *path; /* NULL: not stored */
  uint64_t offset;
};

static int by_offset(const void *a, const void *b) {
  const struct position *x = a, *y = b;
  if (x->utterance.folder != y->utterance.folder)
    return x->utterance.folder < y->utterance.folder ? -1 : 1;
  int order = x->path && y->path && x->path != y->path ? strcmp(x->path, y->path) : 0;
  if (order == 0)
    order = (x->offset > y->offset) - (x->offset < y->offset);
  return order ? order : (x->utterance.index > y->utterance.index) - (x->utterance.index < y->utterance.index);
}

static struct position position_of(const struct train_corpus *corpus, const struct utterance *u) {
  const struct stored *s = &corpus->stored[u->folder];
  struct position position = {.utterance = *u};
  if (s->scp)
    position.path = linnet_scp_location(s->scp, linnet_scp_find(s->scp, u->id), &position.offset);
  return position;
}

bool corpus_sort_by_offset(struct train_corpus *corpus) {
  struct position *positions = malloc((corpus->count + 1) * sizeof *positions);
  for (size_t i = 0; positions && i < corpus->count; i++)
    positions[i] = position_of(corpus, &corpus->utterances[i]);
  if (positions)
    qsort(positions, corpus->count, sizeof *positions, by_offset);
  for (size_t i = 0; positions && i < corpus->count; i++)
    corpus->utterances[i] = positions[i].utterance;
  if (!positions)
    tool_fail("out of memory for %zu utterances", corpus->count);
  const bool good = positions != NULL;
  free(positions);
  return good;
}
