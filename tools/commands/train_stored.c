/* Stored features of a training: lengths, an index beside the data, and reading by position. */
#include "train_corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/parallel.h"

/* --- a file of results beside the data ---------------------------------------------------------------------------- */

uint64_t stored_hash(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *byte = data;
  for (size_t i = 0; i < bytes; i++)
    hash = (hash ^ byte[i]) * UINT64_C(0x100000001B3);
  return hash;
}

struct cache_head {
  char mark[8];
  uint64_t key, bytes, hash; /* hash: of the data */
};

static struct cache_head make_head(uint64_t key, const void *data, size_t bytes) {
  struct cache_head head = {.mark = "linnet1", .key = key, .bytes = bytes};
  head.hash = stored_hash(STORED_HASH_START, data, bytes);
  return head;
}

static void *cache_read(const char *folder, const char *name, uint64_t key, size_t bytes) {
  char path[4096];
  struct cache_head head = {0};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *stream = fopen(path, "rb");
  if (!stream)
    return NULL;
  void *data =
      fread(&head, sizeof head, 1, stream) == 1 && head.key == key && head.bytes == bytes ? malloc(bytes + 1) : NULL;
  const struct cache_head expected = make_head(key, data, data && fread(data, 1, bytes, stream) == bytes ? bytes : 0);
  fclose(stream);
  if (data && memcmp(&head, &expected, sizeof head) == 0)
    return data;
  free(data);
  return NULL;
}

bool cache_share(struct train_ranks *ranks, const char *folder, const char *name, uint64_t key, void *data,
                 size_t bytes, bool *found) {
  void *saved = train_ranks_first(ranks) ? cache_read(folder, name, key, bytes) : NULL;
  *found = saved != NULL;
  if (saved)
    memcpy(data, saved, bytes);
  free(saved);
  return train_ranks_share_first(ranks, true, found, sizeof *found) &&
         (!*found || train_ranks_share_first(ranks, true, data, bytes));
}

void cache_write(const char *folder, const char *name, uint64_t key, const void *data, size_t bytes) {
  char path[4096], temporary[4200];
  const struct cache_head head = make_head(key, data, bytes);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  snprintf(temporary, sizeof temporary, "%s.tmp.%ld", path, (long)getpid());
  FILE *stream = fopen(temporary, "wb");
  bool good = stream && fwrite(&head, sizeof head, 1, stream) == 1 && fwrite(data, 1, bytes, stream) == bytes;
  if (stream && fclose(stream) != 0)
    good = false;
  if (good && rename(temporary, path) == 0)
    return;
  tool_warn("%s: cannot write this index: %s; each training makes it again", path, strerror(errno));
  remove(temporary);
}

/* --- lengths ------------------------------------------------------------------------------------------------------ */

static const char index_name[] = ".linnet-lengths";

/* Size and time of an archive change with its contents. */
static uint64_t hash_archive(uint64_t hash, const char *path) {
  struct stat status;
  if (stat(path, &status) != 0)
    return hash;
  const int64_t numbers[] = {(int64_t)status.st_size, (int64_t)status.st_mtim.tv_sec, (int64_t)status.st_mtim.tv_nsec};
  return stored_hash(hash, numbers, sizeof numbers);
}

static uint64_t compute_key(const struct stored *s) {
  uint64_t hash = STORED_HASH_START, offset = 0;
  const char *last = NULL;
  for (size_t i = 0; i < linnet_scp_num_entries(s->scp); i++) {
    const char *id = linnet_scp_key(s->scp, i), *path = linnet_scp_location(s->scp, i, &offset);
    hash = stored_hash(hash, id, strlen(id) + 1);
    hash = stored_hash(hash, &offset, sizeof offset);
    if (path != last)
      hash = hash_archive(stored_hash(hash, path, strlen(path) + 1), path);
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

static bool take_index(struct train_ranks *ranks, struct stored *s, size_t count, bool *found) {
  uint32_t *lengths = malloc(count * sizeof *lengths + 1);
  if (!lengths) {
    tool_fail("out of memory for %zu utterances", count);
    return false;
  }
  const bool good = cache_share(ranks, s->name, index_name, s->key, lengths, count * sizeof *lengths, found);
  for (size_t i = 0; good && *found && i < count; i++)
    s->frames[i] = lengths[i];
  free(lengths);
  return good;
}

static void write_index(const struct stored *s, size_t count) {
  uint32_t *lengths = malloc(count * sizeof *lengths + 1);
  for (size_t i = 0; lengths && i < count; i++)
    lengths[i] = (uint32_t)s->frames[i];
  if (lengths)
    cache_write(s->name, index_name, s->key, lengths, count * sizeof *lengths);
  free(lengths);
}

enum { PER_TASK = 256 }; /* utterances */

struct measuring {
  struct stored *stored;
  size_t begin, end; /* utterances of this rank */
  struct tool_progress progress;
  pthread_mutex_t mutex;
};

/* Utterances that cannot be read stay at 0: if they have labels, reading them fails with a message. */
static int task_measure(void *user, size_t task, unsigned worker, struct linnet_context *context) {
  struct measuring *m = user;
  const struct stored *s = m->stored;
  size_t first = m->begin + task * PER_TASK, end = first + PER_TASK < m->end ? first + PER_TASK : m->end, columns;
  (void)worker;
  for (size_t i = first; i < end && !tool_interrupted(); i++) {
    size_t entry = linnet_scp_find(s->scp, linnet_data_folder_id(s->folder, i));
    if (entry != LINNET_NOT_FOUND && linnet_scp_size(s->scp, context, entry, &s->frames[i], &columns) != LINNET_OK)
      s->frames[i] = 0;
  }
  pthread_mutex_lock(&m->mutex);
  tool_progress_add(&m->progress, (double)(end - first));
  pthread_mutex_unlock(&m->mutex);
  return tool_interrupted() ? TOOL_INTERRUPTED : 0;
}

/* Reads the headers of the matrices. */
static bool measure(struct linnet_context *context, struct train_ranks *ranks, struct stored *s, size_t count) {
  struct measuring m = {.stored = s};
  train_ranks_part(ranks, count, &m.begin, &m.end);
  pthread_mutex_init(&m.mutex, NULL);
  tool_progress_start(&m.progress, "lengths", "utterances", (double)(m.end - m.begin));
  bool good = tool_parallel(context, (m.end - m.begin + PER_TASK - 1) / PER_TASK, task_measure, &m) == 0;
  tool_progress_finish(&m.progress);
  pthread_mutex_destroy(&m.mutex);
  return train_ranks_share_parts(ranks, good, s->frames, count, sizeof *s->frames);
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

/* Without utt2num_frames. */
static bool find_lengths(struct linnet_context *context, struct train_ranks *ranks, struct stored *s, size_t count) {
  bool found = false;
  if (!take_index(ranks, s, count, &found))
    return false;
  if (found)
    return true;
  if (!measure(context, ranks, s, count))
    return false;
  if (train_ranks_first(ranks))
    write_index(s, count);
  return true;
}

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
  s->key = compute_key(s);
  return take_num_frames(s, count) || find_lengths(context, ranks, s, count);
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
  if (entry == LINNET_NOT_FOUND) {
    tool_fail("utterance %s: is missing in a feats-SPEED.scp of %s: make these lists again", id, s->name);
    return LINNET_ERROR_FORMAT;
  }
  enum linnet_status status = linnet_scp_read(list, context, entry, matrix);
  if (status != LINNET_OK || is_finite(matrix))
    return status;
  tool_fail("utterance %s: its stored features are not finite", id);
  return LINNET_ERROR_FORMAT;
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
