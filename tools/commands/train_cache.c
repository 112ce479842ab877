/* Small files of results beside the training data, and the lengths of utterances, which are such a file. */
#include "train_corpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/parallel.h"

/* --- keys --------------------------------------------------------------------------------------------------------- */

uint64_t cache_hash(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *byte = data;
  for (size_t i = 0; i < bytes; i++)
    hash = (hash ^ byte[i]) * UINT64_C(0x100000001B3);
  return hash;
}

uint64_t cache_hash_file(uint64_t hash, const char *path) {
  struct stat status;
  hash = cache_hash(hash, path, strlen(path) + 1);
  if (stat(path, &status) != 0)
    return hash;
  const int64_t numbers[] = {(int64_t)status.st_size, (int64_t)status.st_mtim.tv_sec, (int64_t)status.st_mtim.tv_nsec};
  return cache_hash(hash, numbers, sizeof numbers);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

struct cache_head {
  char mark[8];
  uint64_t key, bytes, hash; /* hash: of the data */
};

static struct cache_head make_head(uint64_t key, const void *data, size_t bytes) {
  struct cache_head head = {.mark = "linnet1", .key = key, .bytes = bytes};
  head.hash = cache_hash(CACHE_HASH_START, data, bytes);
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

static bool take_index(struct train_ranks *ranks, const struct lengths *l, uint32_t *numbers, bool *found) {
  if (!numbers) {
    tool_fail("out of memory for %zu utterances", l->count);
    return false;
  }
  const bool good = cache_share(ranks, l->folder, l->file, l->key, numbers, l->count * sizeof *numbers, found);
  for (size_t i = 0; good && *found && i < l->count; i++)
    l->lengths[i] = numbers[i];
  return good;
}

static void write_index(const struct lengths *l, uint32_t *numbers) {
  for (size_t i = 0; i < l->count; i++)
    numbers[i] = (uint32_t)l->lengths[i];
  cache_write(l->folder, l->file, l->key, numbers, l->count * sizeof *numbers);
}

enum { PER_TASK = 256 }; /* utterances */

struct measuring {
  const struct lengths *lengths;
  size_t begin, end; /* utterances of this rank */
  struct tool_progress progress;
  pthread_mutex_t mutex;
};

static int task_measure(void *user, size_t task, unsigned worker, struct linnet_context *context) {
  struct measuring *m = user;
  const size_t first = m->begin + task * PER_TASK, end = first + PER_TASK < m->end ? first + PER_TASK : m->end;
  (void)worker;
  m->lengths->measure(m->lengths, context, first, end);
  pthread_mutex_lock(&m->mutex);
  tool_progress_add(&m->progress, (double)(end - first));
  pthread_mutex_unlock(&m->mutex);
  return tool_interrupted() ? TOOL_INTERRUPTED : 0;
}

static bool measure(struct linnet_context *context, struct train_ranks *ranks, const struct lengths *l) {
  struct measuring m = {.lengths = l};
  train_ranks_part(ranks, l->count, &m.begin, &m.end);
  pthread_mutex_init(&m.mutex, NULL);
  tool_progress_start(&m.progress, "lengths", "utterances", (double)(m.end - m.begin));
  const bool good = tool_parallel(context, (m.end - m.begin + PER_TASK - 1) / PER_TASK, task_measure, &m) == 0;
  tool_progress_finish(&m.progress);
  pthread_mutex_destroy(&m.mutex);
  return train_ranks_share_parts(ranks, good, l->lengths, l->count, sizeof *l->lengths);
}

/* Sets failed lengths to 0; whether there are none. */
static bool are_complete(const struct lengths *l) {
  bool complete = true;
  for (size_t i = 0; i < l->count; i++)
    if (l->lengths[i] == LENGTH_FAILED) {
      l->lengths[i] = 0;
      complete = false;
    }
  return complete;
}

bool lengths_find(struct linnet_context *context, struct train_ranks *ranks, const struct lengths *l) {
  uint32_t *numbers = malloc(l->count * sizeof *numbers + 1);
  bool found = false, good = take_index(ranks, l, numbers, &found);
  if (good && !found) {
    good = measure(context, ranks, l);
    if (are_complete(l) && good && train_ranks_first(ranks))
      write_index(l, numbers);
  }
  free(numbers);
  return good;
}
