/* Trainings with a loss beside CTC. */
#ifndef LINNET_TEST_SIDE_LOSS_H
#define LINNET_TEST_SIDE_LOSS_H

#include "small_training.h"

/* The loss of the last epoch, which struct run has at `offset`. */
static double side_loss(const struct run *run, size_t offset) {
  double loss;
  memcpy(&loss, (const char *)run + offset, sizeof loss);
  return loss;
}

/* The loss is below `part` of that after one epoch, and has the same bytes with 1 and 3 threads. `without`, the run
 * without this loss, gives another model. Returns the run with one thread. */
static struct run check_side_loss(const struct run *run, const struct run *without, size_t offset, double part) {
  char one[64], three[64], plain[64];
  struct run a = *run, b = *run, off = *without, first = *run;
  a.threads = off.threads = first.threads = 1;
  b.threads = 3, first.epochs = 1;
  train(&first, make_folder(one));
  remove_folder(one);
  train(&a, make_folder(one));
  train(&b, make_folder(three));
  train(&off, make_folder(plain));
  const double begin = side_loss(&first, offset), end = side_loss(&a, offset);
  printf("loss %g to %g, beside CTC %g to %g\n", a.first_loss, a.last_loss, begin, end);
  CHECK(a.status == LINNET_OK && end > 0 && end < part * begin, "beside CTC %g to %g: %s", begin, end, a.error);
  CHECK(end == side_loss(&b, offset) && side_loss(&off, offset) < 0, "%g with 3 threads, off %g", side_loss(&b, offset),
        side_loss(&off, offset));
  CHECK(same_model(one, three), "models of 1 and 3 threads differ");
  CHECK(!same_model(one, plain), "the loss changes nothing");
  remove_folder(one);
  remove_folder(three);
  remove_folder(plain);
  return a;
}

#endif
