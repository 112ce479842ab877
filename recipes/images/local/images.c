/* Image files, and the tokens that a network reads. */
#include "images.h"

#include <errno.h>
#include <string.h>

void images_check(enum linnet_status status, const struct linnet_context *context) {
  if (status != LINNET_OK)
    experiment_die("%s", linnet_context_error(context));
}

/* --- files -------------------------------------------------------------------------------------------------------- */

enum { CIFAR_SIDE = 32, CIFAR_RECORD = 1 + 3 * CIFAR_SIDE * CIFAR_SIDE };
#define MAX_FILE ((size_t)1 << 30)

struct bytes {
  unsigned char *data;
  size_t count;
};

static struct bytes read_file(struct linnet_context *context, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0)
    experiment_die("%s: %s", path, strerror(errno));
  const long size = ftell(file);
  if (size < 0 || (size_t)size > MAX_FILE)
    experiment_die("%s: is larger than 1 GiB, or no regular file", path);
  struct bytes bytes = {experiment_alloc(context, (size_t)size + 1, 1), (size_t)size};
  rewind(file);
  if (fread(bytes.data, 1, bytes.count, file) != bytes.count)
    experiment_die("%s: cannot read it", path);
  fclose(file);
  return bytes;
}

static size_t big_endian(const unsigned char *bytes) {
  return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

/* Makes space for `count` more images, of the same shape as those before. */
static unsigned char *add_images(struct linnet_context *context, struct images *images, const char *path, size_t count,
                                 size_t height, size_t width, size_t channels) {
  if (images->count > 0 && (images->height != height || images->width != width || images->channels != channels))
    experiment_die("%s: its images have another size than those before", path);
  *images = (struct images){images->count, height, width, channels, images->values};
  const size_t size = images_size(images);
  unsigned char *all = experiment_alloc(context, images->count + count, size);
  memcpy(all, images->values ? images->values : all, images->count * size);
  linnet_free(context, images->values);
  images->values = all;
  images->count += count;
  return all + (images->count - count) * size;
}

/* IDX of unsigned bytes in three dimensions: magic, count, rows, columns, values. */
enum { IDX_HEAD = 16, MAX_SIDE = 1024 };

static bool begins_as_idx(struct bytes file) {
  static const unsigned char magic[4] = {0, 0, 8, 3};
  return file.count >= IDX_HEAD && memcmp(file.data, magic, sizeof magic) == 0;
}

struct idx_head {
  size_t count, height, width;
};

static struct idx_head idx_head(struct bytes file) {
  return (struct idx_head){big_endian(file.data + 4), big_endian(file.data + 8), big_endian(file.data + 12)};
}

/* Whether the size of the file is that of its images. */
static bool is_idx(struct bytes file) {
  const struct idx_head h = idx_head(file);
  return h.height >= 1 && h.height <= MAX_SIDE && h.width >= 1 && h.width <= MAX_SIDE &&
         file.count - IDX_HEAD == h.count * h.height * h.width;
}

static void add_idx(struct linnet_context *context, struct images *images, const char *path, struct bytes file) {
  const struct idx_head h = idx_head(file);
  if (!is_idx(file))
    experiment_die("%s: its size is not that of %zu images of %zu x %zu", path, h.count, h.height, h.width);
  memcpy(add_images(context, images, path, h.count, h.height, h.width, 1), file.data + IDX_HEAD, file.count - IDX_HEAD);
}

/* Records of a label, 0 to 9, and three planes. */
static void add_cifar(struct linnet_context *context, struct images *images, const char *path, struct bytes file) {
  const size_t plane = (size_t)CIFAR_SIDE * CIFAR_SIDE, count = file.count / CIFAR_RECORD;
  unsigned char *to = add_images(context, images, path, count, CIFAR_SIDE, CIFAR_SIDE, 3);
  for (size_t i = 0; i < count; i++) {
    const unsigned char *record = file.data + i * CIFAR_RECORD;
    if (record[0] > 9)
      experiment_die("%s: is not of CIFAR-10: record %zu has the label %d", path, i, record[0]);
    for (size_t p = 0; p < 3 * plane; p++)
      *to++ = record[1 + p % 3 * plane + p / 3];
  }
}

/* A black corner may make records begin as IDX does; then the size decides. */
static void add_file(struct linnet_context *context, struct images *images, const char *path) {
  struct bytes file = read_file(context, path);
  const bool records = file.count > 0 && file.count % CIFAR_RECORD == 0;
  if (begins_as_idx(file) && (!records || is_idx(file)))
    add_idx(context, images, path, file);
  else if (records)
    add_cifar(context, images, path, file);
  else
    experiment_die("%s: is neither IDX images (uncompressed) nor records of CIFAR-10 of %d bytes", path, CIFAR_RECORD);
  linnet_free(context, file.data);
}

/* The mean of a square of scale * scale pixels. */
static unsigned char square_mean(const struct images *images, size_t scale, const unsigned char *corner) {
  size_t sum = 0;
  for (size_t y = 0; y < scale; y++)
    for (size_t x = 0; x < scale; x++)
      sum += corner[(y * images->width + x) * images->channels];
  return (unsigned char)((sum + scale * scale / 2) / (scale * scale));
}

/* In place: a result lies before the values that later ones read. */
static void shrink(struct images *images, size_t scale) {
  const struct images full = *images;
  unsigned char *to = images->values;
  if (full.height % scale != 0 || full.width % scale != 0)
    experiment_die("--scale %zu does not divide the images' size, %zu x %zu", scale, full.height, full.width);
  images->height /= scale, images->width /= scale;
  for (size_t i = 0; i < full.count; i++)
    for (size_t y = 0; y < images->height; y++)
      for (size_t x = 0; x < images->width; x++)
        for (size_t c = 0; c < full.channels; c++)
          *to++ = square_mean(
              &full, scale, full.values + ((i * full.height + y * scale) * full.width + x * scale) * full.channels + c);
}

struct images images_read(struct linnet_context *context, const char *paths, size_t scale, size_t limit) {
  struct images images = {0};
  char path[4096];
  for (const char *from = paths; *from;) {
    const size_t length = strcspn(from, ",");
    if (length == 0 || length >= sizeof path)
      experiment_die("%s: is not a list of files separated by commas", paths);
    memcpy(path, from, length);
    path[length] = '\0';
    add_file(context, &images, path);
    from += length + (from[length] == ',');
  }
  if (images.count == 0)
    experiment_die("%s: there are no images", paths);
  if (limit > 0 && images.count > limit)
    images.count = limit;
  shrink(&images, scale);
  return images;
}

/* --- networks ----------------------------------------------------------------------------------------------------- */

struct images_network images_network = {.attention = "causal-linear",
                                        .layers = 8,
                                        .heads = 8,
                                        .width = 256,
                                        .feed_forward = 1024,
                                        .components = 10,
                                        .rounds = 1};

#define INT(name, member, help) name, 0, POPT_ARG_INT | POPT_ARGFLAG_SHOW_DEFAULT, &images_network.member, 0, help, "N"
const struct poptOption images_network_options[] = {
    {"attention", 0, POPT_ARG_STRING | POPT_ARGFLAG_SHOW_DEFAULT, &images_network.attention, 0,
     "Kind of attention: causal-linear, causal-softmax or causal-lsh", "NAME"},
    {INT("layers", layers, "Layers")},
    {INT("heads", heads, "Heads")},
    {INT("width", width, "Width of the network")},
    {INT("feed-forward", feed_forward, "Width of the feed-forward blocks")},
    {INT("components", components, "Logistics of the mixture")},
    {INT("rounds", rounds, "Rounds of hashing, for LSH")},
    POPT_TABLEEND};
#undef INT

/* Positions are learned: one table for square grey images, and one each for row, column and colour otherwise. */
static void set_tables(size_t height, size_t width, size_t channels, struct linnet_config *config) {
  const bool square = channels == 1 && height == width;
  config->tokens[0] = LEVELS + 1;
  config->tokens[1] = square ? height * width : height;
  config->tokens[2] = square ? 0 : width;
  config->tokens[3] = square ? 0 : channels;
  config->input_dim = square ? 2 : 4;
}

void images_configure(struct linnet_context *context, size_t height, size_t width, size_t channels,
                      struct linnet_config *config) {
  const struct images_network *n = &images_network;
  linnet_config_default(config);
  set_tables(height, width, channels, config);
  config->output = LINNET_OUTPUT_LINEAR;
  config->position = LINNET_POSITION_NONE;
  config->dropout = 0;
  config->causal_chunk = 64;
  config->layers = (size_t)n->layers, config->heads = (size_t)n->heads, config->width = (size_t)n->width;
  config->feed_forward = (size_t)n->feed_forward, config->outputs = 3 * (size_t)n->components;
  config->lsh_rounds = (size_t)n->rounds;
  if (n->components < 1 || n->components > 64 || n->layers < 1 || n->layers > LINNET_MAX_LAYERS)
    experiment_die("--components must be 1 to 64, --layers 1 to %d", LINNET_MAX_LAYERS);
  memset(config->attention, experiment_kind(n->attention), config->layers);
  if (!linnet_attention_traits[config->attention[0]].causal)
    experiment_die("--attention %s sees the values that it should predict; it must be causal", n->attention);
  images_check(linnet_config_validate(context, "the options", config), context);
}

bool images_shape(const struct linnet_config *config, size_t *height, size_t *width, size_t *channels) {
  const size_t *sizes = config->tokens;
  if (sizes[0] != LEVELS + 1 || config->outputs % 3 != 0 || (config->input_dim != 2 && config->input_dim != 4))
    return false;
  *channels = config->input_dim == 2 ? 1 : sizes[3];
  *height = sizes[1], *width = sizes[2];
  if (config->input_dim == 4)
    return (*channels == 1 || *channels == 3) && *height <= MAX_SIDE && *width <= MAX_SIDE;
  for (*height = 1; *height * *height < sizes[1];)
    ++*height;
  *width = *height;
  return *height <= MAX_SIDE && *height * *width == sizes[1];
}
