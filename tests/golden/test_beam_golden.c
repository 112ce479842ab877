/* Compares prefix beam search with flashlight-text (make_beam.py): the hypotheses must be the same. The scores must lie
 * between flashlight's, which drops more alignments in a beam of the same size, and the exact ones. In short cases
 * these are equal. */
#include <linnet/beam.h>

#include "golden.h"

struct beam_case {
  const char *name;
  size_t frames, symbols, hypotheses;
  float *posteriors, *scores, *exact;
  int32_t *counts, *labels;
};

static void read_case(struct beam_case *c, const struct golden *g, size_t index) {
  char prefix[32], key[48];
  snprintf(prefix, sizeof prefix, "%zu.", index);
  snprintf(key, sizeof key, "%zu.name", index);
  const struct linnet_tensor *posteriors = golden_tensor(g, prefix, "posteriors");
  REQUIRE(posteriors->rank == 2, "%s: rank %zu", posteriors->name, posteriors->rank);
  *c = (struct beam_case){.name = golden_text(g, key),
                          .frames = posteriors->shape[0],
                          .symbols = posteriors->shape[1],
                          .posteriors = golden_floats(g, prefix, "posteriors", NULL),
                          .scores = golden_floats(g, prefix, "scores", NULL),
                          .exact = golden_floats(g, prefix, "exact", NULL),
                          .labels = golden_integers(g, prefix, "symbols", NULL)};
  c->counts = golden_integers(g, prefix, "counts", &c->hypotheses);
}

static void free_case(struct beam_case *c) {
  free(c->posteriors);
  free(c->scores);
  free(c->exact);
  free(c->counts);
  free(c->labels);
}

static void check_labels(const struct beam_case *c, size_t index, const struct linnet_hypothesis *h,
                         const int32_t *labels) {
  CHECK(h->num_segments == (size_t)c->counts[index], "%s: hypothesis %zu has %zu symbols, expected %d", c->name, index,
        h->num_segments, (int)c->counts[index]);
  for (size_t i = 0; i < h->num_segments && i < (size_t)c->counts[index]; i++)
    CHECK(h->segments[i].symbol == labels[i], "%s: hypothesis %zu, symbol %zu is %d, expected %d", c->name, index, i,
          h->segments[i].symbol, (int)labels[i]);
}

static void check_case(struct linnet_context *context, const struct beam_case *c, size_t width) {
  struct linnet_beam_settings settings;
  struct linnet_beam *beam;
  const int32_t *labels = c->labels;
  linnet_beam_settings_default(&settings);
  settings.beam = width;
  REQUIRE(linnet_beam_create(context, (int)c->symbols, &settings, &beam) == LINNET_OK, "create");
  CHECK(linnet_beam_accept(beam, c->posteriors, c->frames) == LINNET_OK && linnet_beam_finish(beam) == LINNET_OK,
        "%s: search", c->name);
  for (size_t i = 0; i < c->hypotheses; i++) {
    struct linnet_hypothesis h;
    REQUIRE(linnet_beam_hypothesis(beam, i, &h) == LINNET_OK, "%s: hypothesis %zu", c->name, i);
    check_labels(c, i, &h, labels);
    labels += c->counts[i];
    double lower = (double)c->scores[i], upper = (double)c->exact[i], slack = 1e-6 * fmax(1, fabs(upper));
    CHECK(h.score >= lower - slack && h.score <= upper + slack, "%s: hypothesis %zu has score %.9g, not %.9g to %.9g",
          c->name, i, h.score, lower, upper);
  }
  linnet_beam_destroy(beam);
}

static void check(const struct golden *g, size_t index) {
  struct beam_case c;
  read_case(&c, g, index);
  check_case(g->context, &c, strtoul(golden_text(g, "beam"), NULL, 10));
  free_case(&c);
}

int main(void) {
  return golden_each_case("beam.safetensors", check);
}
