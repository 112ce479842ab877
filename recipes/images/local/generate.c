/* Draws images from a model of linnet-images-train, or completes the lower halves of given images, and shows them as a
 * picture. Values are drawn one by one, from a recurrent network or, with --whole, by running the network over all
 * values so far for each new one: that is for attention without a state, such as LSH. */
#include <png.h>
#include <string.h>

#include <linnet/encoder.h>

#include "base/philox.h"
#include "images.h"
#include "model/inference/sample.h"
#include "ops/logistic_mixture.h"

static struct options {
  const char *model, *complete, *out;
  int count, columns, zoom, scale, batch, seed, whole;
} options = {.count = 36, .columns = 12, .zoom = 4, .scale = 1, .seed = 1};

#define INT(name, member, help) name, 0, POPT_ARG_INT | POPT_ARGFLAG_SHOW_DEFAULT, &options.member, 0, help, "N"
static const struct poptOption option_table[] = {
    {"model", 0, POPT_ARG_STRING, &options.model, 0, "Model that linnet-images-train wrote", "MODEL"},
    {"complete", 0, POPT_ARG_STRING, &options.complete, 0,
     "Keep the upper halves of the first images of these files. The picture has three rows for each row of images: the "
     "halves, the completed images, the originals",
     "FILES"},
    {"out", 0, POPT_ARG_STRING, &options.out, 0, "Picture to write, PNG", "FILE"},
    {INT("count", count, "Maximum number of images")},
    {INT("columns", columns, "Images beside each other")},
    {INT("zoom", zoom, "Side of a value in pixels of the picture")},
    {INT("scale", scale, "Divide height and width of the files of --complete by N")},
    {INT("batch", batch, "Images that are drawn together; 0: 8 to 32, which is fastest")},
    {"whole", 0, POPT_ARG_NONE, &options.whole, 0, "Run the network over all values so far for each new one", NULL},
    {INT("seed", seed, "Seed of the random numbers")},
    POPT_TABLEEND};
#undef INT

/* --- pictures ----------------------------------------------------------------------------------------------------- */

struct picture {
  unsigned char *pixels;
  size_t height, width, channels, zoom;
};

/* A white picture of rows and columns of images, with borders of one zoomed value. */
static struct picture picture_create(struct linnet_context *context, const struct images *images, size_t rows,
                                     size_t columns) {
  struct picture p = {.channels = images->channels, .zoom = (size_t)options.zoom};
  p.height = (rows * (images->height + 1) + 1) * p.zoom, p.width = (columns * (images->width + 1) + 1) * p.zoom;
  if (p.width * p.channels > 65000)
    experiment_die("the picture is too wide: use a smaller --columns or --zoom");
  p.pixels = experiment_alloc(context, p.height * p.width, p.channels);
  memset(p.pixels, 255, p.height * p.width * p.channels);
  return p;
}

static void picture_put(const struct picture *p, const struct images *images, const unsigned char *values, size_t row,
                        size_t column) {
  const size_t top = (row * (images->height + 1) + 1) * p->zoom, left = (column * (images->width + 1) + 1) * p->zoom;
  for (size_t y = 0; y < images->height * p->zoom; y++)
    for (size_t x = 0; x < images->width * p->zoom; x++)
      memcpy(p->pixels + ((top + y) * p->width + left + x) * p->channels,
             values + (y / p->zoom * images->width + x / p->zoom) * p->channels, p->channels);
}

/* --- images ------------------------------------------------------------------------------------------------------- */

struct generation {
  struct linnet_context *context;
  struct linnet_model *model;
  struct images given, drawn; /* `given` without values: none */
  size_t num_given;           /* values of each image */
};

static struct linnet_model *load(struct linnet_context *context, struct images *shape) {
  struct linnet_model *model = NULL;
  images_check(linnet_model_load_tokens(context, options.model, &model), context);
  if (!images_shape(&model->config, &shape->height, &shape->width, &shape->channels))
    experiment_die("%s: is not a model of images", options.model);
  return model;
}

static void read_given(struct generation *g) {
  g->given = images_read(g->context, options.complete, (size_t)options.scale, (size_t)options.count);
  if (images_size(&g->given) != images_size(&g->drawn))
    experiment_die("%s: its images are not of the model's size, %zu x %zu; see --scale", options.complete,
                   g->drawn.height, g->drawn.width);
  g->drawn.count = g->given.count;
  g->num_given = g->given.height / 2 * g->given.width * g->given.channels;
}

/* linnet_sample without a state: the same values but for rounding. */
static void draw_whole(const struct generation *g, const struct linnet_sample_settings *s, int *values) {
  const struct linnet_config *config = &g->model->config;
  struct linnet_encoder *encoder = NULL;
  float *frames = experiment_alloc(g->context, s->steps * config->input_dim, sizeof *frames);
  float *outputs = experiment_alloc(g->context, s->steps * config->outputs, sizeof *outputs);
  images_check(linnet_encoder_create(g->context, g->model, &encoder), g->context);
  for (size_t i = 0; i < s->count; i++)
    for (size_t t = 0; t < s->steps; t++) {
      int *value = values + i * s->steps + t;
      const struct linnet_philox random = linnet_philox(s->seed, i, t);
      linnet_sample_frame(config, t, t > 0 ? value[-1] : START, frames + t * config->input_dim);
      if (t < s->given)
        continue;
      images_check(linnet_encoder_compute(encoder, frames, t + 1, outputs), g->context);
      *value = linnet_logistic_mixture_sample(config->outputs / 3, LEVELS, outputs + t * config->outputs,
                                              random.word[0], random.word[1]);
    }
  linnet_encoder_destroy(encoder);
  linnet_free(g->context, frames);
  linnet_free(g->context, outputs);
}

static void draw_images(struct generation *g) {
  const size_t size = images_size(&g->drawn), total = g->drawn.count * size;
  int *values = experiment_alloc(g->context, total, sizeof *values);
  struct linnet_sample_settings settings;
  linnet_sample_settings_default(&settings);
  settings.count = g->drawn.count;
  settings.steps = size;
  settings.given = g->num_given;
  settings.batch = (size_t)options.batch;
  settings.seed = (uint64_t)options.seed;
  for (size_t i = 0; g->num_given > 0 && i < total; i++)
    values[i] = g->given.values[i];
  if (options.whole)
    draw_whole(g, &settings, values);
  else
    images_check(linnet_sample(g->context, g->model, &settings, values), g->context);
  g->drawn.values = experiment_alloc(g->context, total, 1);
  for (size_t i = 0; i < total; i++)
    g->drawn.values[i] = (unsigned char)values[i];
  linnet_free(g->context, values);
}

static void write_png(const struct picture *p, const char *path) {
  png_image image = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)p->width,
                     .height = (png_uint_32)p->height,
                     .format = p->channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB};
  FILE *file = experiment_create(path);
  if (!png_image_write_to_stdio(&image, file, 0, p->pixels, 0, NULL))
    experiment_die("%s: %s", path, image.message);
  experiment_finish(file, path);
}

static void show(const struct generation *g) {
  const size_t size = images_size(&g->drawn), columns = (size_t)options.columns, parts = g->num_given > 0 ? 3 : 1;
  const struct picture p =
      picture_create(g->context, &g->drawn, (g->drawn.count + columns - 1) / columns * parts, columns);
  unsigned char *half = experiment_alloc(g->context, size, 1);
  for (size_t i = 0; i < g->drawn.count; i++) {
    const size_t row = i / columns * parts, column = i % columns;
    picture_put(&p, &g->drawn, g->drawn.values + i * size, row + parts / 2, column);
    if (g->num_given == 0)
      continue;
    memcpy(half, g->given.values + i * size, g->num_given);
    memset(half + g->num_given, 128, size - g->num_given);
    picture_put(&p, &g->drawn, half, row, column);
    picture_put(&p, &g->drawn, g->given.values + i * size, row + 2, column);
  }
  write_png(&p, options.out);
  linnet_free(g->context, half);
  linnet_free(g->context, p.pixels);
}

int main(int argc, const char **argv) {
  struct generation g = {.context = experiment_start(argc, argv, option_table)};
  if (!options.model || !options.out || options.count < 1 || options.columns < 1 || options.zoom < 1 ||
      options.zoom > 64 || options.scale < 1 || options.batch < 0)
    experiment_die("needs --model and --out, and positive numbers; see --help");
  g.model = load(g.context, &g.drawn);
  g.drawn.count = (size_t)options.count;
  if (options.complete)
    read_given(&g);
  draw_images(&g);
  show(&g);
  linnet_free(g.context, g.given.values);
  linnet_free(g.context, g.drawn.values);
  linnet_model_destroy(g.model);
  linnet_context_destroy(g.context);
  return 0;
}
