/* A small model of pronunciations: each letter A to D is the phone of its name. */
#ifndef LINNET_TEST_SMALL_G2P_H
#define LINNET_TEST_SMALL_G2P_H

#include <string.h>

#include <linnet/g2p.h>

#include "test.h"

static inline void write_small_g2p(struct linnet_context *context, const char *path) {
  static const char *const words[] = {"AB", "CA", "DAB", "BAD", "CD"}, *const phones[] = {"A", "B", "C", "D"};
  struct linnet_g2p_trainer *trainer = NULL;
  struct linnet_g2p *g2p = NULL;
  REQUIRE(linnet_g2p_trainer_create(context, NULL, &trainer) == LINNET_OK, "%s", linnet_context_error(context));
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const char *spoken[3];
    const size_t count = strlen(words[i]);
    for (size_t k = 0; k < count; k++)
      spoken[k] = phones[words[i][k] - 'A'];
    CHECK(linnet_g2p_trainer_add(trainer, words[i], spoken, count) == LINNET_OK, "%s", words[i]);
  }
  REQUIRE(linnet_g2p_trainer_finish(trainer, &g2p) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(linnet_g2p_save(context, g2p, path) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_g2p_destroy(g2p);
  linnet_g2p_trainer_destroy(trainer);
}

#endif
