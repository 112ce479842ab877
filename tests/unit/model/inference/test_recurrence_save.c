/* Saved streams: at every position a stream is saved, restored in another recurrence on another thread, and continues
 * with the same bytes; other, damaged and contradicting bytes are refused and harm nothing. */
#include <pthread.h>

#include "allocators.h"
#include "base/file.h"
#include "base/little_endian.h"
#include "utterance.h"

enum { FRAMES = 61, HEADER = 56, CHECKSUM = 4, MUTATIONS = 20000 };

static const char *const configs[] = {
    UTTERANCE_LINEAR,
    UTTERANCE_CONVOLUTION,
    UTTERANCE_MIXED,
    "{\"attention\": [\"causal-linear\", \"causal-softmax\"], \"feature_map\": \"relu\", \"convolution\": 3, "
    "\"convolution_lookahead\": 2}",
};

struct fixture {
  struct linnet_context *context;
  struct linnet_model *model;
  struct utterance utterance;
  struct linnet_recurrence *recurrence;
};

static void open_fixture(struct fixture *f, const char *text, size_t frames) {
  f->context = test_context();
  const struct linnet_config config = small_config(f->context, text);
  f->model = random_model(f->context, &config, 3, 1, LINNET_CMVN_NONE);
  f->utterance = utterance_create(f->context, f->model, frames);
  REQUIRE(linnet_recurrence_create(f->context, f->model, &f->recurrence) == LINNET_OK, "recurrence");
}

static void close_fixture(struct fixture *f) {
  utterance_destroy(&f->utterance);
  linnet_recurrence_destroy(f->recurrence);
  linnet_model_destroy(f->model);
  linnet_context_destroy(f->context);
}

/* A saved stream. */
struct saved {
  unsigned char *data;
  size_t bytes;
};

static struct saved save(const struct linnet_recurrence *r) {
  struct saved s = {.bytes = linnet_recurrence_saved_bytes(r)};
  s.data = malloc(s.bytes);
  CHECK(linnet_recurrence_save(r, s.data, s.bytes) == LINNET_OK, "save");
  return s;
}

/* --- every position ----------------------------------------------------------------------------------------------- */

/* What the other thread continues: frames from `taken` on, or the end if `finishing`. */
struct continuation {
  const struct fixture *f;
  struct saved saved;
  size_t taken;
  bool finishing;
};

static void *run_continuation(void *user) {
  const struct continuation *c = user;
  const struct utterance *u = &c->f->utterance;
  const struct utterance rest = {.model = u->model,
                                 .frames = c->finishing ? 0 : u->frames - c->taken,
                                 .rows = u->rows,
                                 .features = u->features + c->taken * UTTERANCE_DIM};
  struct linnet_context *context = NULL;
  struct linnet_recurrence *r = NULL;
  float *got = malloc((u->rows + 1) * UTTERANCE_OUTPUTS * sizeof *got), row[UTTERANCE_OUTPUTS];
  REQUIRE(linnet_context_share(c->f->context, &context) == LINNET_OK, "context");
  REQUIRE(linnet_recurrence_create(context, c->f->model, &r) == LINNET_OK, "recurrence");
  linnet_recurrence_step(r, u->features, row); /* what it had before does not matter */
  REQUIRE(linnet_recurrence_restore(r, c->saved.data, c->saved.bytes) == LINNET_OK, "%s",
          linnet_context_error(context));
  const struct saved again = save(r);
  CHECK(again.bytes == c->saved.bytes && memcmp(again.data, c->saved.data, again.bytes) == 0, "saved again: differs");
  const size_t first = linnet_recurrence_num_frames(r);
  CHECK(utterance_run(&rest, r, got) == u->rows, "not all rows");
  CHECK(memcmp(got + first * UTTERANCE_OUTPUTS, u->expected + first * UTTERANCE_OUTPUTS,
               (u->rows - first) * UTTERANCE_OUTPUTS * sizeof *got) == 0,
        "saved at frame %zu%s: other bytes", c->taken, c->finishing ? ", at the end" : "");
  CHECK(linnet_recurrence_finish(r, row) == LINNET_END, "more rows");
  linnet_recurrence_destroy(r);
  linnet_context_destroy(context);
  free(again.data);
  free(got);
  return NULL;
}

/* On a thread of its own, which the caller waits for. */
static void check_position(const struct fixture *f, size_t taken, bool finishing) {
  struct continuation c = {.f = f, .saved = save(f->recurrence), .taken = taken, .finishing = finishing};
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, run_continuation, &c) == 0, "thread");
  pthread_join(thread, NULL);
  free(c.saved.data);
}

static void test_positions(const char *config) {
  struct fixture f;
  float row[UTTERANCE_OUTPUTS];
  open_fixture(&f, config, FRAMES);
  for (size_t t = 0; t < FRAMES; t++) {
    check_position(&f, t, false);
    linnet_recurrence_step(f.recurrence, utterance_frame(&f.utterance, t), row);
  }
  check_position(&f, FRAMES, false);
  while (linnet_recurrence_finish(f.recurrence, row) == LINNET_OK)
    check_position(&f, FRAMES, true);
  check_position(&f, FRAMES, true);
  close_fixture(&f);
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

static void seal(struct saved *s) {
  struct linnet_crc32 crc;
  linnet_crc32_start(&crc);
  linnet_crc32_add(&crc, s->data, s->bytes - CHECKSUM);
  linnet_store_u32(s->data + s->bytes - CHECKSUM, crc.value);
}

/* Numbers of the header that are refused even with the right checksum. */
static const struct {
  size_t offset;
  uint32_t value; /* of the four bytes there */
  enum linnet_status status;
  const char *message; /* text that the message must have */
} refused[] = {
    {0, 0x4E4E4E4E, LINNET_ERROR_FORMAT, "begin"},
    {8, 2, LINNET_ERROR_UNSUPPORTED, "version 2"},
    {8, 0, LINNET_ERROR_UNSUPPORTED, "version 0"},
    {12, 2, LINNET_ERROR_FORMAT, "contradicts"},
    {12, 1, LINNET_ERROR_FORMAT, "contradicts"}, /* finished, but with an incomplete stack */
    {16, 5, LINNET_ERROR_STATE, "another model"},
    {20, 5, LINNET_ERROR_STATE, "another model"},
    {24, 1000000, LINNET_ERROR_FORMAT, "contradicts"},
    {24, 2, LINNET_ERROR_FORMAT, "another size"},
    {28, 0x70000000, LINNET_ERROR_FORMAT, "contradicts"},
    {32, 1, LINNET_ERROR_FORMAT, "contradicts"}, /* zeros before the end */
    {32, 6, LINNET_ERROR_FORMAT, "contradicts"},
    {40, 2, LINNET_ERROR_FORMAT, "contradicts"},
    {40, 0, LINNET_ERROR_FORMAT, "another size"},
    {44, 1, LINNET_ERROR_FORMAT, "contradicts"},
    {48, 0, LINNET_ERROR_FORMAT, "truncated"},
    {52, 1, LINNET_ERROR_FORMAT, "truncated"},
};

static void check_refused(struct fixture *f, const struct saved *s, enum linnet_status status, const char *message) {
  const enum linnet_status got = linnet_recurrence_restore(f->recurrence, s->data, s->bytes);
  CHECK(got == status, "%s: status %d, %d expected", message, (int)got, (int)status);
  CHECK(strstr(linnet_context_error(f->context), message), "no \"%s\" in the message: %s", message,
        linnet_context_error(f->context));
}

static void test_refused(void) {
  struct fixture f;
  open_fixture(&f, configs[2], FRAMES); /* of stack 2: an odd number of frames leaves an incomplete stack */
  float row[UTTERANCE_OUTPUTS];
  for (size_t t = 0; t < FRAMES; t++)
    linnet_recurrence_step(f.recurrence, utterance_frame(&f.utterance, t), row);
  struct saved good = save(f.recurrence);
  struct saved bad = {malloc(good.bytes + 4), good.bytes};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    memcpy(bad.data, good.data, good.bytes);
    linnet_store_u32(bad.data + refused[i].offset, refused[i].value);
    seal(&bad);
    check_refused(&f, &bad, refused[i].status, refused[i].message);
  }
  for (size_t i = HEADER; i < good.bytes; i += 97) {
    memcpy(bad.data, good.data, good.bytes);
    bad.data[i] ^= 1;
    check_refused(&f, &bad, LINNET_ERROR_FORMAT, "damaged");
  }
  memcpy(bad.data, good.data, good.bytes);
  memset(bad.data + good.bytes, 0, 4);
  for (bad.bytes = 0; bad.bytes < good.bytes + 4; bad.bytes++)
    if (bad.bytes != good.bytes)
      CHECK(linnet_recurrence_restore(f.recurrence, bad.data, bad.bytes) == LINNET_ERROR_FORMAT, "%zu bytes",
            bad.bytes);
  CHECK(linnet_recurrence_save(f.recurrence, bad.data, 10) == LINNET_ERROR_ARGUMENT, "too little memory");
  CHECK(linnet_recurrence_restore(f.recurrence, good.data, good.bytes) == LINNET_OK, "good bytes");
  free(good.data);
  free(bad.data);
  close_fixture(&f);
}

/* The same configuration with other weights, and the same weights with another configuration. */
static void test_other_models(void) {
  struct fixture f;
  open_fixture(&f, "{\"attention\": \"causal-linear\"}", 9);
  const struct saved s = save(f.recurrence);
  static const char *const texts[] = {"{\"attention\": \"causal-linear\"}",
                                      "{\"attention\": \"causal-linear\", \"activation\": \"gelu\"}"};
  for (uint64_t i = 0; i < 2; i++) {
    const struct linnet_config config = small_config(f.context, texts[i]);
    struct linnet_model *model = random_model(f.context, &config, i == 0 ? 4 : 3, 1, LINNET_CMVN_NONE);
    struct linnet_recurrence *r = NULL;
    REQUIRE(linnet_recurrence_create(f.context, model, &r) == LINNET_OK, "recurrence");
    CHECK(linnet_recurrence_restore(r, s.data, s.bytes) == LINNET_ERROR_STATE, "%s: accepted", texts[i]);
    linnet_recurrence_destroy(r);
    linnet_model_destroy(model);
  }
  free(s.data);
  close_fixture(&f);
}

/* --- mutations ---------------------------------------------------------------------------------------------------- */

/* Changes a few bytes or the length, mostly in the header, and corrects the checksum. */
static void mutate(struct test_random *random, const struct saved *good, struct saved *bad) {
  memcpy(bad->data, good->data, good->bytes);
  bad->bytes = good->bytes;
  if (test_below(random, 4) == 0)
    bad->bytes = HEADER + CHECKSUM + 4 * test_below(random, (good->bytes - HEADER - CHECKSUM) / 4 + 1);
  for (size_t i = test_below(random, 4) + 1; i-- > 0;) {
    const size_t end = test_below(random, 4) > 0 ? HEADER - 12 : bad->bytes;
    bad->data[12 + test_below(random, end)] =
        (unsigned char)(test_below(random, 2) ? test_below(random, 8) : test_next(random));
  }
  memcpy(bad->data + 16, good->data + 16, 8);
  linnet_store_u64(bad->data + 48, (bad->bytes - HEADER - CHECKSUM) / 4);
  seal(bad);
}

/* A restored stream runs on; one that was refused is one that was reset. */
static void check_usable(struct fixture *f, enum linnet_status status) {
  float rows[64 * UTTERANCE_OUTPUTS];
  size_t count = 0;
  if (status != LINNET_OK) {
    linnet_recurrence_reset(f->recurrence);
    CHECK(utterance_run(&f->utterance, f->recurrence, rows) == f->utterance.rows &&
              memcmp(rows, f->utterance.expected, f->utterance.rows * UTTERANCE_OUTPUTS * sizeof *rows) == 0,
          "other bytes after refused ones");
    return;
  }
  CHECK(linnet_recurrence_save(f->recurrence, rows, 1) == LINNET_ERROR_ARGUMENT, "no memory to save");
  linnet_recurrence_accept(f->recurrence, f->utterance.features, 3, rows, &count);
  for (size_t i = 0; i < 64 && linnet_recurrence_finish(f->recurrence, rows) == LINNET_OK; i++)
    continue;
  CHECK(linnet_recurrence_finish(f->recurrence, rows) == LINNET_END, "no end");
}

static void test_mutations(const char *config, size_t frames) {
  struct test_random random = {frames};
  struct fixture f;
  float row[UTTERANCE_OUTPUTS];
  size_t accepted = 0, refusals = 0;
  open_fixture(&f, config, 5);
  for (size_t t = 0; t < frames; t++)
    linnet_recurrence_step(f.recurrence, utterance_frame(&f.utterance, t % 5), row);
  if (frames % 2 == 0)
    linnet_recurrence_finish(f.recurrence, row);
  const struct saved good = save(f.recurrence);
  for (size_t i = 0; i < test_cases(MUTATIONS); i++) {
    struct saved bad = {malloc(good.bytes + 64), good.bytes};
    mutate(&random, &good, &bad);
    bad.data = realloc(bad.data, bad.bytes); /* so that a sanitizer notices the first byte beyond it */
    const enum linnet_status status = linnet_recurrence_restore(f.recurrence, bad.data, bad.bytes);
    accepted += status == LINNET_OK, refusals += status == LINNET_ERROR_FORMAT;
    CHECK(status == LINNET_OK || status == LINNET_ERROR_FORMAT, "mutation %zu: status %d", i, (int)status);
    check_usable(&f, status);
    free(bad.data);
  }
  printf("%s: %zu mutations accepted, %zu refused\n", config, accepted, refusals);
  free(good.data);
  close_fixture(&f);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static struct fixture shared;
static struct saved shared_state;

static enum linnet_status create_and_restore(struct linnet_context *context) {
  struct linnet_recurrence *r = NULL;
  enum linnet_status status = linnet_recurrence_create(context, shared.model, &r);
  if (status == LINNET_OK)
    status = linnet_recurrence_restore(r, shared_state.data, shared_state.bytes);
  CHECK(!r || status == LINNET_OK || linnet_recurrence_num_frames(r) == 0, "not reset without memory");
  linnet_recurrence_destroy(r);
  return status;
}

static void test_memory(void) {
  float rows[FRAMES * UTTERANCE_OUTPUTS];
  open_fixture(&shared, configs[3], FRAMES);
  utterance_run(&shared.utterance, shared.recurrence, rows);
  shared_state = save(shared.recurrence);
  torture("restore", create_and_restore);
  free(shared_state.data);
  close_fixture(&shared);
}

int main(void) {
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
    test_positions(configs[i]);
    test_mutations(configs[i], 4 + i);
  }
  test_refused();
  test_other_models();
  test_memory();
  return test_result();
}
