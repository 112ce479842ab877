/* What the programs of this recipe share: images, the configuration of their networks, and rows of tokens.
 *
 * An image of N values (rows from top to bottom, in a row from left to right, in a pixel by colour) is predicted value
 * by value. Step t sees the value before, or the start, and where value t lies; its outputs are the parameters of a
 * mixture of logistics over value t. */
#ifndef IMAGES_H
#define IMAGES_H

#include "common/experiment.h"
#include "model/config.h"

enum { LEVELS = 256, START = 256 }; /* values, and the token before the first of them */

struct images {
  size_t count, height, width, channels;
  unsigned char *values; /* (count, height, width, channels) */
};

/* Reads images from an IDX file (MNIST) or binary records (CIFAR-10; several files separated by commas), at most
 * `limit` unless it is 0. Images of height and width divided by `scale` are means over squares. */
struct images images_read(struct linnet_context *context, const char *paths, size_t scale, size_t limit);

static inline size_t images_size(const struct images *images) {
  return images->height * images->width * images->channels;
}

/* The network's shape, from options that both programs have. */
struct images_network {
  const char *attention;
  int layers, heads, width, feed_forward, components, rounds;
};
extern struct images_network images_network;
extern const struct poptOption images_network_options[];

/* The configuration for images of this shape. */
void images_configure(struct linnet_context *context, size_t height, size_t width, size_t channels,
                      struct linnet_config *config);

/* The reverse: the shape for which a model was made, or false. */
bool images_shape(const struct linnet_config *config, size_t *height, size_t *width, size_t *channels);

void images_check(enum linnet_status status, const struct linnet_context *context); /* exits on failure */

#endif
