/* Utterances for tests of the recurrence: random features, and the posteriors of their frames one by one. */
#ifndef LINNET_TEST_UTTERANCE_H
#define LINNET_TEST_UTTERANCE_H

#include <linnet/recurrence.h>

#include "random_model.h"

enum { UTTERANCE_DIM = 8, UTTERANCE_OUTPUTS = 7 };

/* Causal networks. */
#define UTTERANCE_LINEAR "{\"attention\": \"causal-linear\"}"
#define UTTERANCE_CONVOLUTION                                                                                          \
  "{\"attention\": \"causal-linear\", \"norm\": \"pre\", \"stack\": 3, \"convolution\": 15, \"position\": \"none\", "  \
  "\"convolution_lookahead\": [1, 0]}"
#define UTTERANCE_MIXED                                                                                                \
  "{\"attention\": [\"causal-softmax\", \"causal-linear\"], \"stack\": 2, \"convolution\": 9, "                        \
  "\"convolution_lookahead\": [3, 2]}"

struct utterance {
  const struct linnet_model *model;
  size_t frames, rows;
  float *features; /* (frames, UTTERANCE_DIM) */
  float *expected; /* (rows, UTTERANCE_OUTPUTS) */
};

static inline const float *utterance_frame(const struct utterance *u, size_t t) {
  return u->features + t * UTTERANCE_DIM;
}

/* Steps and finishes. Returns the number of rows. */
static inline size_t utterance_run(const struct utterance *u, struct linnet_recurrence *r, float *rows) {
  for (size_t t = 0; t < u->frames; t++) {
    enum linnet_status status =
        linnet_recurrence_step(r, utterance_frame(u, t), rows + linnet_recurrence_num_frames(r) * UTTERANCE_OUTPUTS);
    CHECK(status == LINNET_OK || status == LINNET_AGAIN, "frame %zu: status %d", t, (int)status);
  }
  while (linnet_recurrence_num_frames(r) < u->rows)
    REQUIRE(linnet_recurrence_finish(r, rows + linnet_recurrence_num_frames(r) * UTTERANCE_OUTPUTS) == LINNET_OK,
            "row %zu of %zu", linnet_recurrence_num_frames(r), u->rows);
  return linnet_recurrence_num_frames(r);
}

static inline struct utterance utterance_create(struct linnet_context *context, const struct linnet_model *model,
                                                size_t frames) {
  struct test_random random = {frames + 1};
  struct utterance u = {.model = model, .frames = frames, .rows = linnet_model_num_output_frames(model, frames)};
  struct linnet_recurrence *r = NULL;
  u.features = malloc((frames + 1) * UTTERANCE_DIM * sizeof *u.features);
  u.expected = malloc((u.rows + 1) * UTTERANCE_OUTPUTS * sizeof *u.expected);
  test_fill(&random, u.features, frames * UTTERANCE_DIM);
  REQUIRE(linnet_recurrence_create(context, model, &r) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(utterance_run(&u, r, u.expected) == u.rows, "%zu frames", frames);
  linnet_recurrence_destroy(r);
  return u;
}

static inline void utterance_destroy(struct utterance *u) {
  free(u->features);
  free(u->expected);
}

#endif
