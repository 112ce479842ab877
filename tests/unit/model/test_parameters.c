/* The table of parameters: names, shapes, layout, and initial values. */
#include "test.h"

#include "base/file.h"
#include "base/philox.h"
#include "model/format/safetensors.h"
#include "model/parameters.h"

static struct linnet_context *context;

static struct linnet_parameters *make(const struct linnet_config *config) {
  struct linnet_parameters *parameters = NULL;
  REQUIRE(linnet_parameters_create(context, config, &parameters) == LINNET_OK, "%s", linnet_context_error(context));
  return parameters;
}

static struct linnet_config small_config(void) {
  struct linnet_config config;
  linnet_config_default(&config);
  config.width = 18; /* 18 * 18 is no multiple of 16 */
  config.heads = 3;
  config.layers = 2;
  config.feed_forward = 20;
  config.norm = LINNET_NORM_PRE;
  config.convolution = 3;
  config.outputs = 5;
  return config;
}

static bool is_adjacent(const char *name) {
  return strstr(name, "attention.key.") || strstr(name, "attention.value.");
}

/* Tensors follow each other, aligned except for keys and values; gaps are smaller than the alignment. */
static void test_layout(void) {
  struct linnet_config config = small_config();
  struct linnet_parameters *p = make(&config);
  size_t end = 0, trained = 0;
  for (size_t i = 0; i < p->count; i++) {
    const struct linnet_parameter *tensor = &p->list[i];
    size_t gap = tensor->offset - end;
    CHECK(tensor->offset >= end && gap < LINNET_PARAMETER_ALIGN, "%s at %zu after %zu", tensor->name, tensor->offset,
          end);
    if (is_adjacent(tensor->name))
      CHECK(gap == 0, "%s: gap of %zu", tensor->name, gap);
    else
      CHECK(tensor->offset % LINNET_PARAMETER_ALIGN == 0, "%s at %zu", tensor->name, tensor->offset);
    CHECK(tensor->count == tensor->rows * (tensor->cols ? tensor->cols : 1), "%s: count", tensor->name);
    CHECK(linnet_parameters_find(p, tensor->name) == tensor, "%s: not found, or twice", tensor->name);
    end = tensor->offset + tensor->count;
    trained += tensor->count;
  }
  CHECK(p->size >= end && p->size - end < LINNET_PARAMETER_ALIGN && p->size % LINNET_PARAMETER_ALIGN == 0,
        "size %zu after %zu", p->size, end);
  CHECK(p->trained == trained, "%zu trained, %zu counted", p->trained, trained);
  CHECK(!linnet_parameters_find(p, "layers.2.norm1.bias"), "there are two layers");
  linnet_parameters_destroy(p);
}

static void check_offset(const struct linnet_parameters *p, const char *name, size_t offset, size_t rows, size_t cols) {
  const struct linnet_parameter *tensor = linnet_parameters_find(p, name);
  REQUIRE(tensor, "%s is missing", name);
  CHECK(tensor->offset == offset && tensor->rows == rows && tensor->cols == cols, "%s: (%zu, %zu) at %zu, not %zu",
        name, tensor->rows, tensor->cols, tensor->offset, offset);
}

static void check_layer(const struct linnet_parameters *p, const struct linnet_config *c, size_t index) {
  const struct linnet_sublayer *attention = &p->sublayers[3 * index], *convolution = attention + 1,
                               *feed_forward = attention + 2;
  const size_t d = c->width, f = c->feed_forward, k = c->convolution;
  const struct {
    const char *name;
    size_t offset, rows, cols;
  } expected[] = {
      {"attention.query.weight", attention->first.weight, d, d},
      {"attention.key.weight", attention->first.weight + d * d, d, d},
      {"attention.value.weight", attention->first.weight + 2 * d * d, d, d},
      {"attention.query.bias", attention->first.bias, d, 0},
      {"attention.key.bias", attention->first.bias + d, d, 0},
      {"attention.value.bias", attention->first.bias + 2 * d, d, 0},
      {"attention.output.weight", attention->last.weight, d, d},
      {"attention.output.bias", attention->last.bias, d, 0},
      {"norm1.weight", attention->norm.gain, d, 0},
      {"norm1.bias", attention->norm.bias, d, 0},
      {"convolution.norm1.weight", convolution->norm.gain, d, 0},
      {"convolution.norm1.bias", convolution->norm.bias, d, 0},
      {"convolution.pointwise1.weight", convolution->first.weight, 2 * d, d},
      {"convolution.pointwise1.bias", convolution->first.bias, 2 * d, 0},
      {"convolution.depthwise.weight", convolution->depthwise, k, d},
      {"convolution.depthwise.bias", convolution->depthwise_bias, d, 0},
      {"convolution.norm2.weight", convolution->depthwise_norm.gain, d, 0},
      {"convolution.norm2.bias", convolution->depthwise_norm.bias, d, 0},
      {"convolution.pointwise2.weight", convolution->last.weight, d, d},
      {"convolution.pointwise2.bias", convolution->last.bias, d, 0},
      {"feed_forward.linear1.weight", feed_forward->first.weight, f, d},
      {"feed_forward.linear1.bias", feed_forward->first.bias, f, 0},
      {"feed_forward.linear2.weight", feed_forward->last.weight, d, f},
      {"feed_forward.linear2.bias", feed_forward->last.bias, d, 0},
      {"norm2.weight", feed_forward->norm.gain, d, 0},
      {"norm2.bias", feed_forward->norm.bias, d, 0},
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    char name[96];
    snprintf(name, sizeof name, "layers.%zu.%s", index, expected[i].name);
    check_offset(p, name, expected[i].offset, expected[i].rows, expected[i].cols);
  }
}

static void test_offsets(void) {
  struct linnet_config config = small_config();
  struct linnet_parameters *p = make(&config);
  CHECK(p->count == 6 + 26 * config.layers, "%zu tensors", p->count);
  check_offset(p, "input.weight", p->input.weight, 18, 40);
  check_offset(p, "input.bias", p->input.bias, 18, 0);
  check_layer(p, &config, 0);
  check_layer(p, &config, 1);
  check_offset(p, "norm.weight", p->norm.gain, 18, 0);
  check_offset(p, "norm.bias", p->norm.bias, 18, 0);
  check_offset(p, "output.weight", p->output.weight, 5, 18);
  check_offset(p, "output.bias", p->output.bias, 5, 0);
  linnet_parameters_destroy(p);
}

static void test_blstm_offsets(void) {
  struct linnet_config config = small_config();
  config.encoder = LINNET_ENCODER_BLSTM;
  config.convolution = 0;
  struct linnet_parameters *p = make(&config);
  CHECK(p->count == 2 + 8 * config.layers, "%zu tensors", p->count);
  for (size_t l = 0; l < config.layers; l++)
    for (size_t d = 0; d < 2; d++) {
      const struct linnet_lstm_offsets *o = &p->lstm[l][d];
      const struct {
        const char *name;
        size_t offset, cols;
      } expected[] = {{"weight_ih", o->weight_ih, l > 0 ? 36 : 40},
                      {"weight_hh", o->weight_hh, 18},
                      {"bias_ih", o->bias_ih, 0},
                      {"bias_hh", o->bias_hh, 0}};
      for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char name[96];
        snprintf(name, sizeof name, "lstm.%s_l%zu%s", expected[i].name, l, d ? "_reverse" : "");
        check_offset(p, name, expected[i].offset, 72, expected[i].cols);
      }
    }
  check_offset(p, "output.weight", p->output.weight, 5, 36);
  linnet_parameters_destroy(p);
}

static void test_variants(void) {
  struct linnet_config config = small_config();
  config.norm = LINNET_NORM_POST;
  config.convolution = 0;
  config.layers = LINNET_MAX_LAYERS;
  struct linnet_parameters *p = make(&config);
  CHECK(p->count == 4 + 16 * config.layers, "%zu tensors", p->count);
  CHECK(!linnet_parameters_find(p, "norm.weight"), "post-norm has no last norm");
  CHECK(!linnet_parameters_find(p, "layers.0.convolution.norm1.weight"), "no convolution module");
  linnet_parameters_destroy(p);
  config.heads = 5;
  CHECK(linnet_parameters_create(context, &config, &p) == LINNET_ERROR_FORMAT && !p, "the configuration is checked");
  linnet_parameters_destroy(NULL);
}

/* Gains 1, biases of norms 0, everything else uniform in its bound with the right spread. */
static void check_values(const struct linnet_parameter *tensor, const real *values) {
  double bound = tensor->fan_in > 0 ? 1 / sqrt((double)tensor->fan_in) : 0, squares = 0;
  for (size_t i = 0; i < tensor->count; i++) {
    squares += (double)values[i] * values[i];
    if (tensor->fan_in > 0)
      CHECK(fabs(values[i]) <= bound, "%s: %g beyond %g", tensor->name, values[i], bound);
    else
      CHECK(values[i] == (strstr(tensor->name, "bias") ? 0 : 1), "%s: %g", tensor->name, values[i]);
  }
  double spread = squares / (double)tensor->count / (bound * bound); /* 1/3, with an error of 0.3 / sqrt(count) */
  if (tensor->fan_in > 0 && tensor->count > 100)
    CHECK(fabs(spread - 1 / 3.) < 5 * 0.3 / sqrt((double)tensor->count), "%s: mean square %g of the bound's",
          tensor->name, spread);
}

static void test_initial_values(void) {
  struct linnet_config config = small_config();
  struct linnet_parameters *p = make(&config);
  real *values = linnet_alloc(context, p->size, sizeof *values), *again = linnet_alloc(context, p->size, sizeof *again);
  memset(values, 0x55, p->size * sizeof *values);
  linnet_parameters_initialise(p, 7, values);
  size_t offset = 0;
  for (size_t i = 0; i < p->count; i++) {
    for (; offset < p->list[i].offset; offset++)
      CHECK(values[offset] == 0, "padding at %zu is %g", offset, values[offset]);
    check_values(&p->list[i], values + p->list[i].offset);
    offset += p->list[i].count;
  }
  linnet_parameters_initialise(p, 7, again);
  CHECK(memcmp(values, again, p->size * sizeof *values) == 0, "the same seed gives the same bytes");
  linnet_parameters_initialise(p, 8, again);
  CHECK(memcmp(values, again, p->size * sizeof *values) != 0, "another seed gives other values");
  linnet_free(context, values);
  linnet_free(context, again);
  linnet_parameters_destroy(p);
}

/* The definition, spelled out for one element: other implementations can draw the same values. */
static void test_draw(void) {
  struct linnet_config config = small_config();
  struct linnet_parameters *p = make(&config);
  real *values = linnet_alloc(context, p->size, sizeof *values);
  linnet_parameters_initialise(p, 42, values);
  struct linnet_philox draw = linnet_philox(42, (uint64_t)0x696E6974 << 32 | 2, 3); /* tensor 2, elements 12 .. 15 */
  double wanted = (2 * (draw.word[1] * 0x1p-32) - 1) / sqrt(18);
  CHECK(values[p->sublayers[0].first.weight + 13] == (real)wanted, "%g, not %g",
        values[p->sublayers[0].first.weight + 13], wanted);
  CHECK(strcmp(p->list[2].name, "layers.0.attention.query.weight") == 0, "tensor 2 is %s", p->list[2].name);
  CHECK(p->list[linnet_parameters_find(p, "layers.0.convolution.depthwise.weight") - p->list].fan_in == 3,
        "fan-in of the depthwise convolution is its kernel");
  linnet_free(context, values);
  linnet_parameters_destroy(p);
}

/* The PyTorch encoder has the same tensors with the same shapes. */
static void test_against_pytorch(const char *golden) {
  void *data = NULL;
  size_t bytes = 0;
  struct linnet_safetensors file;
  REQUIRE(linnet_file_read(context, test_source(golden), 1 << 20, &data, &bytes) == LINNET_OK, "%s",
          linnet_context_error(context));
  REQUIRE(linnet_safetensors_open(context, data, bytes, golden, &file) == LINNET_OK, "%s",
          linnet_context_error(context));
  struct linnet_config config;
  REQUIRE(linnet_config_parse_complete(context, linnet_safetensors_metadata(&file, "config"), golden, &config) ==
              LINNET_OK,
          "%s", linnet_context_error(context));
  struct linnet_parameters *p = make(&config);
  size_t found = 0;
  for (size_t i = 0; i < file.count; i++)
    found += strncmp(file.tensors[i].name, "param.", 6) == 0;
  CHECK(found == p->count, "%s has %zu tensors, the table %zu", golden, found, p->count);
  for (size_t i = 0; i < p->count; i++) {
    char name[128];
    snprintf(name, sizeof name, "param.%s", p->list[i].name);
    const struct linnet_tensor *tensor = linnet_safetensors_find(&file, name);
    REQUIRE(tensor, "%s has no %s", golden, name);
    CHECK(tensor->rank == (p->list[i].cols ? 2 : 1) && tensor->shape[0] == p->list[i].rows &&
              (p->list[i].cols == 0 || tensor->shape[1] == p->list[i].cols),
          "%s: shape of %s", golden, name);
  }
  linnet_parameters_destroy(p);
  linnet_safetensors_close(&file);
  linnet_free(context, data);
}

/* Random features: one tensor for each layer with a map, counted apart, drawn from the normal distribution. */
static void test_fixed(void) {
  struct linnet_config config = small_config();
  struct linnet_parameters *plain = make(&config);
  config.feature_map = LINNET_MAP_FOURIER;
  config.features = 1000;
  struct linnet_parameters *p = make(&config);
  const struct linnet_parameter *w = linnet_parameters_find(p, "layers.1.attention.features.weight");
  REQUIRE(w && w->fixed, "no random features");
  CHECK(w->offset == p->sublayers[3].directions && w->rows == 1000 && w->cols == 6, "(%zu, %zu) at %zu", w->rows,
        w->cols, w->offset);
  CHECK(p->count == plain->count + 2 && p->trained == plain->trained, "%zu tensors, %zu trained", p->count, p->trained);
  real *x = malloc(p->size * sizeof *x), moments[4] = {0};
  linnet_parameters_initialise(p, 5, x);
  for (size_t i = 0; i < w->count; i++)
    for (int m = 0; m < 4; m++)
      moments[m] += powf(x[w->offset + i], (float)m + 1) / (float)w->count;
  CHECK(fabs(moments[0]) < 0.05 && fabs(moments[1] - 1) < 0.08 && fabs(moments[2]) < 0.2 && fabs(moments[3] - 3) < 0.4,
        "moments %g, %g, %g, %g of 6000 normal numbers", moments[0], moments[1], moments[2], moments[3]);
  CHECK(memcmp(x + p->sublayers[0].directions, x + w->offset, w->count * sizeof *x) != 0,
        "layers share their features");
  free(x);
  linnet_parameters_destroy(p);
  linnet_parameters_destroy(plain);
}

int main(void) {
  context = test_context();
  test_layout();
  test_offsets();
  test_blstm_offsets();
  test_variants();
  test_initial_values();
  test_draw();
  test_fixed();
  test_against_pytorch("tests/golden/encoder_post.safetensors");
  test_against_pytorch("tests/golden/encoder_pre.safetensors");
  test_against_pytorch("tests/golden/encoder_conv_pre.safetensors");
  test_against_pytorch("tests/golden/encoder_conv_post.safetensors");
  test_against_pytorch("tests/golden/encoder_fourier.safetensors");
  linnet_context_destroy(context);
  return test_result();
}
