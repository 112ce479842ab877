/* Frame targets against PyTorch in double (make_frame_targets.py): loss and gradient with respect to the logits. */
#include "golden.h"

struct frame_targets_case {
  const char *name;
  size_t frames, symbols;
  int32_t *targets;
  float *logits, *loss, *gradient;
};

static struct frame_targets_case now; /* for check_table */

static void read_case(struct frame_targets_case *c, const struct golden *g, size_t index) {
  char prefix[32], key[48];
  snprintf(prefix, sizeof prefix, "%zu.", index);
  snprintf(key, sizeof key, "%sname", prefix);
  const struct linnet_tensor *logits = golden_tensor(g, prefix, "logits");
  REQUIRE(logits->rank == 2, "%s: rank %zu", logits->name, logits->rank);
  *c = (struct frame_targets_case){.name = golden_text(g, key),
                                   .frames = logits->shape[0],
                                   .symbols = logits->shape[1],
                                   .targets = golden_integers(g, prefix, "targets", NULL),
                                   .logits = golden_floats(g, prefix, "logits", NULL),
                                   .loss = golden_floats(g, prefix, "loss", NULL),
                                   .gradient = golden_floats(g, prefix, "grad", NULL)};
}

static void check_table(const struct linnet_ops *ops) {
  size_t n = now.frames * now.symbols;
  float *gradient = calloc(n, sizeof *gradient);
  struct linnet_frame_targets f = {now.frames, now.symbols, now.targets, now.logits, 1, gradient};
  golden_check_loss(ops->name, now.name, ops->frame_targets(&f), now.loss[0], gradient, now.gradient, n);
  free(gradient);
}

static void check(const struct golden *g, size_t index) {
  read_case(&now, g, index);
  test_each_table(check_table);
  free(now.targets);
  float *blocks[] = {now.logits, now.loss, now.gradient};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    free(blocks[i]);
}

int main(void) {
  return golden_each_case("frame_targets.safetensors", check);
}
