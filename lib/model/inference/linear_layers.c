/* Packs the weights of linear layers for the kernels, and applies the layers. */
#include "model/inference/linear_layers.h"

#include "base/base.h"
#include "base/large_pages.h"
#include "base/numbers.h"

/* Goes through all linear layers twice. The first time, without memory for weights, it only counts. */
struct packer {
  const struct linnet_ops *ops;
  const struct linnet_weight_source *source;
  real *memory;   /* of all weights, or NULL */
  size_t used;    /* elements of it */
  real *matrix;   /* (largest): one that is being packed; NULL when counting */
  size_t largest; /* elements of a matrix */
};

/* Takes `size` elements; NULL when counting. */
static real *take(struct packer *p, size_t size) {
  real *piece = p->memory ? p->memory + p->used : NULL;
  p->used += linnet_round_up(size, 16);
  return piece;
}

/* A copy of `count` elements; NULL when counting. */
static const real *copy(struct packer *p, size_t offset, size_t count) {
  real *values = take(p, count);
  if (values)
    p->source->read(p->source->user, offset, count, values);
  return values;
}

/* A matrix until the next call; NULL when counting. */
static const real *matrix(struct packer *p, size_t offset, size_t count) {
  if (count > p->largest)
    p->largest = count;
  if (p->matrix)
    p->source->read(p->source->user, offset, count, p->matrix);
  return p->matrix;
}

static struct linnet_packed_linear pack(struct packer *p, const struct linnet_linear *l) {
  struct linnet_packed_linear linear = {.in = l->in, .out = l->out, .bias = copy(p, l->bias, l->out)};
  size_t count = l->in * l->out, size = p->ops->pack_b ? p->ops->pack_b_size(l->in, l->out) : 0;
  if (size == 0 || size > 2 * count) {
    linear.weight = copy(p, l->weight, count);
    return linear; /* a packed narrow layer would be mostly padding: a small file could need 30 times its size */
  }
  real *packed = take(p, size);
  const real *weight = matrix(p, l->weight, count);
  if (packed)
    p->ops->pack_b(true, l->in, l->out, weight, l->in, packed);
  linear.packed = packed;
  return linear;
}

/* Outputs `from` to `to` of a linear layer. */
static struct linnet_linear part_of(const struct linnet_linear *l, size_t from, size_t to) {
  return (struct linnet_linear){l->in, to - from, l->weight + from * l->in, l->bias + from};
}

static struct linnet_packed_sublayer pack_sublayer(struct packer *p, const struct linnet_sublayer *s) {
  struct linnet_packed_sublayer packed = {.first = {0}};
  const size_t first = s->parts > 0 ? s->parts : s->first.out;
  const struct linnet_linear parts[] = {part_of(&s->first, 0, first), part_of(&s->first, first, s->first.out)};
  packed.first = pack(p, &parts[0]);
  if (first < s->first.out)
    packed.rest = pack(p, &parts[1]);
  packed.last = pack(p, &s->last);
  return packed;
}

static void pack_transformer(struct packer *p, const struct linnet_config *config,
                             const struct linnet_parameters *parameters, struct linnet_linear_layers *layers) {
  if (!linnet_config_reads_tokens(config))
    layers->input = pack(p, &parameters->input);
  for (size_t i = 0; i < parameters->num_sublayers; i++)
    layers->sublayers[i] = pack_sublayer(p, &parameters->sublayers[i]);
  layers->output = pack(p, &parameters->output);
}

static struct linnet_packed_direction pack_direction(struct packer *p, const struct linnet_lstm_offsets *o,
                                                     const struct linnet_linear *input) {
  const size_t width = input->out / 4;
  struct linnet_packed_direction packed = {.input = pack(p, input), .bias = copy(p, o->bias_hh, 4 * width)};
  real *recurrent = take(p, p->ops->lstm_pack_size(width, LINNET_LSTM_FORWARD));
  const real *weights = matrix(p, o->weight_hh, 4 * width * width);
  if (recurrent)
    p->ops->lstm_pack(width, LINNET_LSTM_FORWARD, weights, recurrent);
  packed.recurrent = recurrent;
  return packed;
}

static void pack_blstm(struct packer *p, const struct linnet_config *config, const struct linnet_parameters *parameters,
                       struct linnet_linear_layers *layers) {
  for (size_t l = 0; l < config->layers; l++)
    for (size_t d = 0; d < 2; d++) {
      const struct linnet_linear input = linnet_lstm_input(config, parameters, l, d);
      layers->directions[l][d] = pack_direction(p, &parameters->lstm[l][d], &input);
    }
  layers->output = pack(p, &parameters->output);
}

static void (*const pack_all[])(struct packer *p, const struct linnet_config *config,
                                const struct linnet_parameters *parameters, struct linnet_linear_layers *layers) = {
    [LINNET_ENCODER_TRANSFORMER] = pack_transformer, [LINNET_ENCODER_BLSTM] = pack_blstm};

/* Memory for the weights that have been counted. */
static bool reserve(struct linnet_linear_layers *layers, struct packer *packer) {
  layers->packed_size = packer->used;
  layers->packed = linnet_alloc(layers->context, packer->used, sizeof(real));
  packer->matrix = linnet_alloc(layers->context, packer->largest, sizeof(real));
  packer->memory = layers->packed, packer->used = 0;
  if (layers->packed)
    linnet_prefer_large_pages(layers->packed, layers->packed_size * sizeof(real));
  return layers->packed && packer->matrix;
}

enum linnet_status linnet_linear_layers_create(struct linnet_context *context, const struct linnet_config *config,
                                               const struct linnet_parameters *parameters,
                                               const struct linnet_weight_source *source,
                                               struct linnet_linear_layers **result) {
  struct packer packer = {.ops = linnet_context_ops(context), .source = source};
  struct linnet_linear_layers *layers = linnet_calloc(context, 1, sizeof *layers);
  *result = layers;
  if (!layers)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the network's linear layers");
  layers->context = context;
  layers->sublayers = linnet_calloc(context, parameters->num_sublayers, sizeof *layers->sublayers);
  layers->directions = linnet_calloc(context, config->layers, sizeof *layers->directions);
  bool good = layers->sublayers && layers->directions;
  if (good) {
    pack_all[config->encoder](&packer, config, parameters, layers);
    good = reserve(layers, &packer);
  }
  if (good)
    pack_all[config->encoder](&packer, config, parameters, layers);
  linnet_free(context, packer.matrix);
  if (good)
    return LINNET_OK;
  const size_t bytes = layers->packed_size * sizeof(real);
  linnet_linear_layers_destroy(layers);
  *result = NULL;
  return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for %zu bytes of packed weights", bytes);
}

void linnet_linear_layers_destroy(struct linnet_linear_layers *layers) {
  if (!layers)
    return;
  linnet_free(layers->context, layers->packed);
  linnet_free(layers->context, layers->sublayers);
  linnet_free(layers->context, layers->directions);
  linnet_free(layers->context, layers);
}

void linnet_packed_linear_apply(const struct linnet_ops *ops, const struct linnet_packed_linear *l,
                                enum linnet_activation activation, const struct linnet_linear_rows *r) {
  struct linnet_gemm g = {.transpose_b = true,
                          .m = r->rows,
                          .n = l->out,
                          .k = l->in,
                          .a = r->x,
                          .lda = l->in,
                          .b = l->weight,
                          .ldb = l->in,
                          .packed = l->packed,
                          .c = r->y,
                          .ldc = l->out,
                          .bias = l->bias,
                          .activation = activation,
                          .prefetch = r->prefetch};
  ops->gemm(&g, r->work);
}
