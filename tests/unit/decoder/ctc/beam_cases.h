/* Functions that the tests of the prefix beam search share: random posteriors and a small language model. */
#ifndef LINNET_BEAM_CASES_H
#define LINNET_BEAM_CASES_H

#include <linnet/beam.h>

#include "test.h"

/* Log-softmax of noise of this amplitude, (frames, symbols). */
static inline void fill_posteriors(struct test_random *r, float *rows, size_t frames, size_t symbols,
                                   double amplitude) {
  for (size_t t = 0; t < frames; t++) {
    float *row = rows + t * symbols;
    double sum = 0;
    for (size_t v = 0; v < symbols; v++) {
      row[v] = (float)(amplitude * test_uniform(r));
      sum += exp(row[v]);
    }
    for (size_t v = 0; v < symbols; v++)
      row[v] -= (float)log(sum);
  }
}

/* A bigram: a state is the last token, 0 at the beginning; symbol v is token v + 10. */
enum { BIGRAM_SYMBOLS = 8, BIGRAM_OFFSET = 10 };

struct bigram {
  float score[BIGRAM_SYMBOLS][BIGRAM_SYMBOLS]; /* (last, next); next 0 is the end */
};

static inline void bigram_begin(const void *user, void *state) {
  (void)user;
  memset(state, 0, sizeof(uint32_t));
}

static inline float bigram_score(const void *user, const void *state, unsigned token, void *next) {
  const struct bigram *bigram = user;
  uint32_t last, now = token - BIGRAM_OFFSET;
  memcpy(&last, state, sizeof last);
  memcpy(next, &now, sizeof now);
  return bigram->score[last][now];
}

static inline float bigram_finish(const void *user, const void *state) {
  const struct bigram *bigram = user;
  uint32_t last;
  memcpy(&last, state, sizeof last);
  return bigram->score[last][0];
}

/* Some successions are impossible. */
static inline void fill_bigram(struct test_random *r, struct bigram *bigram) {
  for (size_t i = 0; i < BIGRAM_SYMBOLS; i++)
    for (size_t j = 0; j < BIGRAM_SYMBOLS; j++)
      bigram->score[i][j] = test_below(r, 10) == 0 ? -INFINITY : (float)(2 * test_uniform(r) - 2);
}

static const unsigned bigram_tokens[BIGRAM_SYMBOLS] = {0, 11, 12, 13, 14, 15, 16, 17};

static inline struct linnet_language_model bigram_model(const struct bigram *bigram) {
  return (struct linnet_language_model){.size = sizeof(struct linnet_language_model),
                                        .user = bigram,
                                        .state_bytes = sizeof(uint32_t),
                                        .begin = bigram_begin,
                                        .score = bigram_score,
                                        .finish = bigram_finish};
}

static inline void use_bigram(struct linnet_beam_settings *settings, const struct linnet_language_model *model) {
  settings->model = model;
  settings->tokens = bigram_tokens;
  settings->model_weight = 0.7f;
  settings->insertion_bonus = 0.4f;
}

/* Of a whole sequence, or of one without its end. */
static inline double bigram_language(const struct bigram *bigram, const int *labels, size_t count, bool ended) {
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += (double)bigram->score[i > 0 ? labels[i - 1] : 0][labels[i]];
  return ended ? sum + (double)bigram->score[count > 0 ? labels[count - 1] : 0][0] : sum;
}

static inline bool same_labels(const struct linnet_hypothesis *h, const int *labels, size_t count) {
  if (h->num_segments != count)
    return false;
  for (size_t i = 0; i < count; i++)
    if (h->segments[i].symbol != labels[i])
      return false;
  return true;
}

/* |a - b| relative to max(1, |b|); 0 for equal infinities. */
static inline double beam_error(double a, double b) {
  return a == b ? 0 : fabs(a - b) / fmax(1, fabs(b));
}

/* Segments are in order, a blank apart where a symbol repeats, and their confidences are the mean posteriors of their
 * frames in rows (frames, symbols), unless these are NULL. */
static inline void check_segments(const struct linnet_hypothesis *h, const float *rows, size_t frames, size_t symbols,
                                  uint64_t seed) {
  for (size_t i = 0; i < h->num_segments; i++) {
    const struct linnet_segment *s = &h->segments[i];
    double sum = 0;
    REQUIRE(s->start < s->end && s->end <= frames && (i == 0 || s[-1].end + (s[-1].symbol == s->symbol) <= s->start),
            "seed %llu: segment %zu at %zu-%zu", (unsigned long long)seed, i, s->start, s->end);
    for (size_t t = s->start; t < s->end && rows; t++)
      sum += fmin(1, exp((double)rows[t * symbols + (size_t)s->symbol]));
    double mean = sum / (double)(s->end - s->start);
    CHECK(!rows || beam_error((double)s->confidence, mean) < 1e-6, "seed %llu: segment %zu has confidence %g, not %g",
          (unsigned long long)seed, i, (double)s->confidence, mean);
  }
}

/* Probability of the path that segments name: their symbols on their frames, the blank between. */
static inline double path_probability(const struct linnet_segment *segments, size_t count, const float *rows,
                                      size_t frames, size_t symbols) {
  double probability = 1;
  for (size_t t = 0, i = 0; t < frames; t++) {
    while (i < count && segments[i].end <= t)
      i++;
    int symbol = i < count && segments[i].start <= t ? segments[i].symbol : 0;
    probability *= exp((double)rows[t * symbols + (size_t)symbol]);
  }
  return probability;
}

#endif
