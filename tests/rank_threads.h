/* Trainings by several ranks that are threads of this process. */
#ifndef LINNET_TEST_RANK_THREADS_H
#define LINNET_TEST_RANK_THREADS_H

#include "allocators.h"
#include "model/parameters.h"
#include "small_training.h"
#include "thread_group.h"
#include "train/gradient.h"

struct rank_thread {
  struct thread_group *group;
  struct linnet_group own;
  struct run run;
  const char *folder;
  struct usage usage; /* of memory, if it is counted */
  size_t held;        /* bytes after the trainer was created */
  struct linnet_network network;
  struct linnet_reduction reduction;
};

static inline void *run_rank(void *user) {
  struct rank_thread *t = user;
  t->run.group = &t->own;
  train(&t->run, t->folder);
  return NULL;
}

/* Changes what one rank has; may be NULL. */
typedef void change_fn(struct rank_thread *thread);

/* Runs `body` for `count` ranks; threads[r].run is afterwards that of rank r. */
static inline void run_threads(const struct run *run, size_t count, const char *folder, change_fn *change,
                               size_t fail_at, struct rank_thread threads[MAX_RANKS], void *(*body)(void *thread)) {
  struct thread_group group;
  pthread_t handles[MAX_RANKS];
  thread_group_init(&group, count);
  group.fail_at = fail_at;
  group.fail_rank = count - 1;
  for (size_t r = 0; r < count; r++) {
    threads[r] = (struct rank_thread){.group = &group, .own = thread_group_of(&group, r), .run = *run};
    threads[r].folder = r == 0 ? folder : "/nonexistent"; /* only rank 0 has files */
    if (change)
      change(&threads[r]);
  }
  for (size_t r = 0; r < count; r++)
    REQUIRE(pthread_create(&handles[r], NULL, body, &threads[r]) == 0, "thread");
  for (size_t r = 0; r < count; r++)
    pthread_join(handles[r], NULL);
  thread_group_release(&group);
}

static inline void train_ranks(const struct run *run, size_t count, const char *folder, change_fn *change,
                               size_t fail_at, struct rank_thread threads[MAX_RANKS]) {
  run_threads(run, count, folder, change, fail_at, threads, run_rank);
}

static inline void check_all(const struct rank_thread *threads, size_t count, enum linnet_status status,
                             const char *part) {
  for (size_t r = 0; r < count; r++)
    CHECK(threads[r].run.status == status && strstr(threads[r].run.error, part), "rank %zu: status %d, not %d: %s", r,
          (int)threads[r].run.status, (int)status, threads[r].run.error);
}

/* Multiplies a tensor of a model file by a factor. */
static inline void scale_tensor(const char *path, const char *name, float factor) {
  static char header[1 << 16];
  static const char offsets[] = "\"data_offsets\":[";
  uint64_t length = 0;
  char quoted[64];
  FILE *file = fopen(path, "r+b");
  snprintf(quoted, sizeof quoted, "\"%s\":{", name);
  REQUIRE(file && fread(&length, sizeof length, 1, file) == 1 && length < sizeof header, "%s", path);
  REQUIRE(fread(header, 1, length, file) == length && strstr(header, quoted), "%s: no %s", path, name);
  char *end;
  const long data = (long)(sizeof length + length);
  long at = strtol(strstr(strstr(header, quoted), offsets) + sizeof offsets - 1, &end, 10);
  for (const long last = strtol(end + 1, NULL, 10); at < last; at += (long)sizeof(float)) {
    float value;
    REQUIRE(fseek(file, data + at, SEEK_SET) == 0 && fread(&value, sizeof value, 1, file) == 1, "%s", path);
    value *= factor;
    REQUIRE(fseek(file, data + at, SEEK_SET) == 0 && fwrite(&value, sizeof value, 1, file) == 1, "%s", path);
  }
  REQUIRE(fclose(file) == 0, "%s", path);
}

/* The loss of all utterances is finite, but not the gradient of one of them: by a feature that has no influence. */
static inline void check_gradient_not_finite(struct run run, size_t count) {
  struct rank_thread threads[MAX_RANKS];
  char folder[64], first[64], initial[128];
  run.epochs = 1;
  train(&run, make_folder(first));
  snprintf(initial, sizeof initial, "%s/model.safetensors", first);
  scale_tensor(initial, "input.weight", 0);
  scale_tensor(initial, "output.weight", 1000); /* larger gradients */
  run.initial = initial;
  run.train.poisoned = 3; /* in the first batch: the next ones have other weights */
  run.train.poison = 3e38f;
  train_ranks(&run, count, make_folder(folder), NULL, 0, threads);
  check_all(threads, count, LINNET_ERROR_NUMERIC,
            "the gradient is not finite; utterances with such a gradient: utt-03");
  const char *names = strstr(threads[0].run.error, "utt-");
  CHECK(names && strcmp(names, "utt-03") == 0, "other utterances, too: %s", threads[0].run.error);
  remove_folder(first);
  remove_folder(folder);
}

#endif
