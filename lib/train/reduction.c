/* The thread that sums gradients over ranks during the backward pass. */
#include "train/reduction.h"

#include "base/numbers.h"
#include "train/gradient.h"

static void sum_bucket(struct linnet_reduction *r, size_t bucket) {
  struct linnet_ranks *ranks = r->gradient->ranks;
  struct linnet_shard_tree all;
  linnet_gradient_sum_own(r->gradient, bucket, &r->own);
  const double before = ranks->seconds;
  r->exchanges[bucket].start = linnet_train_clock();
  r->status = linnet_gradient_exchange(r->gradient, bucket, &r->own, &all);
  r->exchanges[bucket].end = linnet_train_clock();
  r->exchanges[bucket].seconds = ranks->seconds - before;
  if (r->status == LINNET_OK)
    linnet_gradient_sum_rest(r->gradient, bucket, &all);
}

static void wait_for(struct linnet_reduction *r, size_t ready) {
  pthread_mutex_lock(&r->mutex);
  while (r->ready < ready)
    pthread_cond_wait(&r->changed, &r->mutex);
  pthread_mutex_unlock(&r->mutex);
}

static void *sum_buckets(void *user) {
  struct linnet_reduction *r = user;
  const size_t buckets = r->gradient->division.buckets;
  for (size_t i = 1; i <= buckets && r->status == LINNET_OK; i++) {
    wait_for(r, i);
    sum_bucket(r, buckets - i);
  }
  return NULL;
}

void linnet_reduction_begin(struct linnet_reduction *r, struct linnet_gradient *g, const struct linnet_shards *shards,
                            size_t count) {
  *r = (struct linnet_reduction){.gradient = g, .status = LINNET_OK};
  linnet_shard_tree_begin(shards, g->ranks, g->division.rank, g->shards, &r->own);
  g->sum = g->shards[0];
  pthread_mutex_init(&r->mutex, NULL);
  pthread_cond_init(&r->changed, NULL);
  for (size_t k = 0; k < g->division.buckets; k++)
    r->left[k] = count;
  r->ready = count > 0 ? 0 : g->division.buckets;
  r->threaded = g->ranks->group.any_thread && pthread_create(&r->thread, NULL, sum_buckets, r) == 0;
}

struct linnet_reduction_shard linnet_reduction_shard(struct linnet_reduction *r) {
  return (struct linnet_reduction_shard){r, r ? r->gradient->division.buckets : 0};
}

void linnet_reduction_passed(void *user, size_t first) {
  struct linnet_reduction_shard *s = user;
  struct linnet_reduction *r = s->reduction;
  if (s->bucket == 0 || linnet_division_first(&r->gradient->division, s->bucket - 1, 0) < first)
    return;
  pthread_mutex_lock(&r->mutex);
  while (s->bucket > 0 && linnet_division_first(&r->gradient->division, s->bucket - 1, 0) >= first)
    if (--r->left[--s->bucket] == 0)
      r->ready++;
  pthread_cond_signal(&r->changed);
  pthread_mutex_unlock(&r->mutex);
}

/* Seconds of exchanges before `end`. */
static double hidden_seconds(const struct linnet_reduction *r, double end) {
  double seconds = 0;
  for (size_t k = 0; k < r->gradient->division.buckets; k++) {
    const double until = r->exchanges[k].end < end ? r->exchanges[k].end : end, hidden = until - r->exchanges[k].start;
    if (hidden > 0)
      seconds += hidden < r->exchanges[k].seconds ? hidden : r->exchanges[k].seconds;
  }
  return seconds;
}

enum linnet_status linnet_reduction_finish(struct linnet_reduction *r) {
  const double end = linnet_train_clock();
  if (r->threaded)
    pthread_join(r->thread, NULL);
  else
    sum_buckets(r);
  r->gradient->ranks->hidden += hidden_seconds(r, end);
  pthread_cond_destroy(&r->changed);
  pthread_mutex_destroy(&r->mutex);
  return r->status;
}
