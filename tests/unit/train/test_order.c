/* The order of epochs, and which utterances are announced. */
#include "train/batch.h"

#include <string.h>

#include "test.h"

enum { COUNT = 1000, BATCH_FRAMES = 50 };

static struct linnet_context *context;
static size_t lengths[COUNT];

static struct linnet_batches fill(uint64_t seed, uint64_t epoch, size_t block) {
  struct linnet_batches batches;
  const struct linnet_order order = {seed, epoch, block};
  REQUIRE(linnet_batches_create(context, COUNT, &batches) == LINNET_OK, "no memory");
  linnet_batches_fill(&batches, lengths, COUNT, BATCH_FRAMES, &order);
  return batches;
}

static bool same(const struct linnet_batches *a, const struct linnet_batches *b) {
  return a->batches == b->batches && a->utterances == b->utterances &&
         memcmp(a->order, b->order, a->utterances * sizeof *a->order) == 0 &&
         memcmp(a->starts, b->starts, (a->batches + 1) * sizeof *a->starts) == 0;
}

static void release(struct linnet_batches *batches) {
  linnet_batches_destroy(context, batches);
}

/* Every utterance with frames appears once, and no batch of several utterances is too long. */
static void check_complete(const struct linnet_batches *b, size_t usable) {
  bool seen[COUNT] = {false};
  for (size_t i = 0; i < b->utterances; i++) {
    CHECK(lengths[b->order[i]] > 0 && !seen[b->order[i]], "utterance %zu is there twice or empty", b->order[i]);
    seen[b->order[i]] = true;
  }
  CHECK(b->utterances == usable && b->starts[b->batches] == usable, "%zu of %zu utterances", b->utterances, usable);
  for (size_t s = 0; s < b->batches; s++) {
    size_t frames = 0;
    for (size_t i = b->starts[s]; i < b->starts[s + 1]; i++)
      frames += lengths[b->order[i]];
    CHECK(frames <= BATCH_FRAMES || b->starts[s + 1] - b->starts[s] == 1, "batch %zu has %zu frames", s, frames);
  }
}

/* The numbers of an utterance among those with frames. */
static void rank_usable(size_t *ranks) {
  for (size_t u = 0, n = 0; u < COUNT; u++)
    ranks[u] = lengths[u] > 0 ? n++ : 0;
}

/* Each stretch of the order that has the size of a block is a block. */
static void test_blocks(size_t usable, size_t block) {
  size_t ranks[COUNT], changes = 0, unsorted = 0;
  struct linnet_batches b = fill(1, 1, block);
  rank_usable(ranks);
  check_complete(&b, usable);
  for (size_t i = 1; i < b.utterances; i++) {
    changes += ranks[b.order[i]] / block != ranks[b.order[i - 1]] / block;
    unsorted += b.order[i] < b.order[i - 1];
  }
  CHECK(changes == (usable - 1) / block, "%zu changes of the block", changes);
  CHECK(unsorted > usable / 4, "only %zu steps back: the blocks are not shuffled", unsorted);
  bool in_order = true;
  for (size_t i = 1; i < b.utterances; i++)
    in_order = in_order && ranks[b.order[i]] / block >= ranks[b.order[i - 1]] / block;
  CHECK(!in_order, "the order of the blocks is not shuffled");
  release(&b);
}

static void test_seeds(size_t block) {
  struct linnet_batches a = fill(1, 1, block), b = fill(1, 1, block), epoch = fill(1, 2, block),
                        seed = fill(2, 1, block);
  CHECK(same(&a, &b), "the order of block %zu is not always the same", block);
  CHECK(!same(&a, &epoch) && !same(&a, &seed), "epoch or seed does not matter, block %zu", block);
  release(&a), release(&b), release(&epoch), release(&seed);
}

/* One block is as none. */
static void test_one_block(void) {
  struct linnet_batches none = fill(3, 4, 0), all = fill(3, 4, COUNT), fixed = fill(3, 0, 10);
  CHECK(same(&none, &all), "one block of all utterances changes the order");
  for (size_t i = 1; i < fixed.utterances; i++)
    CHECK(fixed.order[i] > fixed.order[i - 1], "epoch 0 changes the order");
  release(&none), release(&all), release(&fixed);
}

/* --- announcements ------------------------------------------------------------------------------------------------ */

struct announced {
  size_t list[COUNT], count;
};

static void remember(void *user, const size_t *utterances, size_t count, uint64_t epoch) {
  struct announced *announced = user;
  CHECK(epoch == 5, "epoch %llu", (unsigned long long)epoch);
  for (size_t i = 0; i < count && announced->count < COUNT; i++)
    announced->list[announced->count++] = utterances[i];
}

/* An epoch whose corpus remembers what is announced. */
struct announcing {
  struct linnet_batches batches;
  struct linnet_config config;
  struct linnet_batch batch;
  struct linnet_corpus corpus;
  struct announced announced;
};

static void begin(struct announcing *a) {
  *a = (struct announcing){.batches = fill(1, 5, 100)};
  a->corpus = (struct linnet_corpus){.user = &a->announced, .prefetch = remember};
  linnet_config_default(&a->config);
  linnet_batch_init(&a->batch, context, &a->config);
}

/* From any first step on, each utterance is announced once, in order, and before its batch is used. */
static void test_prefetch(size_t first) {
  struct announcing a;
  begin(&a);
  for (size_t s = first; s < a.batches.batches; s++) {
    linnet_batch_prefetch(&a.batch, &a.batches, &a.corpus, lengths, s, s == first, 5);
    CHECK(a.announced.count >= a.batches.starts[s + 1] - a.batches.starts[first], "batch %zu is not announced", s);
  }
  CHECK(a.announced.count == a.batches.utterances - a.batches.starts[first] &&
            memcmp(a.announced.list, a.batches.order + a.batches.starts[first],
                   a.announced.count * sizeof *a.announced.list) == 0,
        "%zu announced utterances", a.announced.count);
  release(&a.batches);
}

/* Three ranks announce parts, which together are the epoch. */
static void test_ranks(void) {
  struct announcing a;
  begin(&a);
  a.batch.num_shards = 4;
  size_t most = 0, before = 0;
  for (size_t s = 0; s < a.batches.batches; s++)
    for (size_t r = 0; r < 3; r++) {
      struct linnet_ranks ranks = {.group = {.rank = r, .num_ranks = 3}};
      a.batch.ranks = &ranks;
      before = a.announced.count;
      linnet_batch_prefetch(&a.batch, &a.batches, &a.corpus, lengths, s, s == 0, 5);
      most = r == 0 && s > 0 && a.announced.count - before > most ? a.announced.count - before : most;
    }
  bool seen[COUNT] = {false};
  for (size_t i = 0; i < a.announced.count; i++) {
    CHECK(!seen[a.announced.list[i]], "utterance %zu is announced twice", a.announced.list[i]);
    seen[a.announced.list[i]] = true;
  }
  CHECK(a.announced.count == a.batches.utterances, "%zu of %zu utterances", a.announced.count, a.batches.utterances);
  size_t longest = 0;
  for (size_t s = 0; s < a.batches.batches; s++)
    longest = a.batches.starts[s + 1] - a.batches.starts[s] > longest ? a.batches.starts[s + 1] - a.batches.starts[s]
                                                                      : longest;
  CHECK(most > 0 && most < longest, "rank 0 announces %zu of at most %zu utterances", most, longest);
  release(&a.batches);
}

int main(void) {
  struct test_random random = {1};
  size_t usable = 0;
  context = test_context();
  for (size_t u = 0; u < COUNT; u++)
    usable += (lengths[u] = test_below(&random, 60)) > 0;
  test_blocks(usable, 100);
  test_blocks(usable, 7);
  test_seeds(0);
  test_seeds(100);
  test_one_block();
  test_prefetch(0);
  test_prefetch(40);
  test_ranks();
  linnet_context_destroy(context);
  return test_result();
}
