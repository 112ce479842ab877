/* Replaces cuDNN for the emulated device: implements the calls of cudnn_api.h as NVIDIA documents them, in plain loops
 * over host memory with sums in double. It refuses the arguments that cuDNN would refuse, and does everything that
 * cuDNN is allowed to do: it overwrites the temporary space, stores weights in its own order with gaps between them,
 * and backward destroys what forward saved for it. */
#include "fake_cudnn.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cudnn_api.h"

enum { BAD_PARAM = 2000, EXECUTION_FAILED = 5000 }; /* as of version 9 */
enum { GATES = 4, DIRECTIONS = 2, LINEAR = 2 * GATES, MAX_SEQUENCES = 64, GAP = 3 };

struct fake_cudnn fake_cudnn_state;

struct cudnnContext {
  void *stream;
  bool stream_set;
};

struct cudnnTensorStruct {
  int dimensions, sizes[3], strides[3];
};

struct cudnnDropoutStruct {
  float rate;
  bool set;
};

struct cudnnRNNStruct {
  size_t inputs, width;
};

struct cudnnRNNDataStruct {
  size_t longest, sequences, width, rows;
  int lengths[MAX_SEQUENCES];
};

/* --- common parts of all calls ------------------------------------------------------------------------------------ */

static cudnnStatus_t refuse(const char *function, const char *what) {
  fprintf(stderr, "fake cuDNN: %s: %s\n", function, what);
  fake_cudnn_state.refused++;
  return (cudnnStatus_t)BAD_PARAM;
}

static bool fails(const char *function) {
  struct fake_cudnn *f = &fake_cudnn_state;
  f->calls++;
  if (!f->failing || strcmp(f->failing, function) != 0)
    return false;
  if (f->passing == 0)
    return true;
  f->passing--;
  return false;
}

#define BEGIN                                                                                                          \
  if (fails(__func__))                                                                                                 \
  return (cudnnStatus_t)EXECUTION_FAILED
#define NEED(condition)                                                                                                \
  if (!(condition))                                                                                                    \
  return refuse(__func__, #condition)

size_t cudnnGetVersion(void) {
  return 0;
}

const char *cudnnGetErrorString(cudnnStatus_t status) {
  return (int)status == BAD_PARAM ? "a call was refused" : "a call failed";
}

/* --- descriptors -------------------------------------------------------------------------------------------------- */

#define LIFE(Object, type)                                                                                             \
  cudnnStatus_t cudnnCreate##Object(type *object) {                                                                    \
    BEGIN;                                                                                                             \
    *object = calloc(1, sizeof **object);                                                                              \
    fake_cudnn_state.handles++;                                                                                        \
    return CUDNN_STATUS_SUCCESS;                                                                                       \
  }                                                                                                                    \
  cudnnStatus_t cudnnDestroy##Object(type object) {                                                                    \
    free(object);                                                                                                      \
    fake_cudnn_state.handles--;                                                                                        \
    return CUDNN_STATUS_SUCCESS;                                                                                       \
  }
LIFE(, cudnnHandle_t)
LIFE(TensorDescriptor, cudnnTensorDescriptor_t)
LIFE(DropoutDescriptor, cudnnDropoutDescriptor_t)
LIFE(RNNDescriptor, cudnnRNNDescriptor_t)
LIFE(RNNDataDescriptor, cudnnRNNDataDescriptor_t)

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, struct CUstream_st *stream) {
  BEGIN;
  handle->stream = stream, handle->stream_set = true;
  return CUDNN_STATUS_SUCCESS;
}

static void set_tensor(cudnnTensorDescriptor_t tensor, const int sizes[3], const int strides[3]) {
  tensor->dimensions = 3;
  memcpy(tensor->sizes, sizes, sizeof tensor->sizes);
  memcpy(tensor->strides, strides, sizeof tensor->strides);
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int dimensions,
                                         const int sizes[], const int strides[]) {
  BEGIN;
  NEED(type == CUDNN_DATA_FLOAT && dimensions == 3 && sizes[0] > 0 && sizes[1] > 0 && sizes[2] > 0);
  set_tensor(tensor, sizes, strides);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensor, int requested, cudnnDataType_t *type,
                                         int *dimensions, int sizes[], int strides[]) {
  BEGIN;
  NEED(requested == 3 && tensor->dimensions == 3);
  *type = CUDNN_DATA_FLOAT, *dimensions = 3;
  memcpy(sizes, tensor->sizes, sizeof tensor->sizes);
  memcpy(strides, tensor->strides, sizeof tensor->strides);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropout, cudnnHandle_t handle, float rate,
                                        void *states, size_t bytes, unsigned long long seed) {
  (void)states, (void)bytes, (void)seed;
  BEGIN;
  NEED(handle && rate == 0);
  dropout->rate = rate, dropout->set = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t algorithm, cudnnRNNMode_t cell,
                                       cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                                       cudnnRNNInputMode_t input, cudnnDataType_t type, cudnnDataType_t sums,
                                       cudnnMathType_t math, int32_t inputs, int32_t width, int32_t projection,
                                       int32_t layers, cudnnDropoutDescriptor_t dropout, uint32_t flags) {
  BEGIN;
  NEED(algorithm == CUDNN_RNN_ALGO_STANDARD && cell == CUDNN_LSTM && bias == CUDNN_RNN_DOUBLE_BIAS);
  NEED(direction == CUDNN_BIDIRECTIONAL && input == CUDNN_LINEAR_INPUT && layers == 1);
  NEED(type == CUDNN_DATA_FLOAT && sums == CUDNN_DATA_FLOAT && flags == CUDNN_RNN_PADDED_IO_DISABLED);
  NEED(inputs > 0 && width > 0 && projection == width && dropout && dropout->set);
  rnn->inputs = (size_t)inputs, rnn->width = (size_t)width;
  fake_cudnn_state.math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t layout, int longest, int sequences, int width,
                                        const int lengths[], void *padding) {
  BEGIN;
  NEED(type == CUDNN_DATA_FLOAT && layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED && width > 0 && !padding);
  NEED(sequences > 0 && sequences <= MAX_SEQUENCES && longest == lengths[0]);
  data->rows = 0;
  for (int s = 0; s < sequences; s++) {
    NEED(lengths[s] > 0 && lengths[s] <= lengths[s > 0 ? s - 1 : 0]);
    data->rows += (size_t)(data->lengths[s] = lengths[s]);
  }
  data->longest = (size_t)longest, data->sequences = (size_t)sequences, data->width = (size_t)width;
  return CUDNN_STATUS_SUCCESS;
}

/* --- spaces ------------------------------------------------------------------------------------------------------- */

/* The contents of the reserve space after forward; gates (DIRECTIONS, rows, 4H) and cells (DIRECTIONS, rows, H)
 * follow. */
struct reserve {
  enum { FORWARD_DONE = 0xF0, BACKWARD_DONE = 0xB0 } state;
  uint64_t x, y, weights; /* hashes */
};

static size_t reserve_bytes_of(cudnnRNNDescriptor_t rnn, cudnnRNNDataDescriptor_t x) {
  return sizeof(struct reserve) + DIRECTIONS * x->rows * (GATES + 1) * rnn->width * sizeof(float);
}

/* More for fewer rows, now and then: sizes are not monotonic. */
static size_t work_bytes_of(cudnnRNNDataDescriptor_t x) {
  return 1000 + 4 * x->rows * x->width + (x->rows % 2 ? 5000 : 0);
}

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t mode,
                                        cudnnRNNDataDescriptor_t x, size_t *work, size_t *reserve) {
  BEGIN;
  NEED(handle && x->width == rnn->inputs);
  *work = work_bytes_of(x);
  *reserve = mode == CUDNN_FWD_MODE_TRAINING ? reserve_bytes_of(rnn, x) : 0;
  return CUDNN_STATUS_SUCCESS;
}

/* Elements of a linear layer's tensors. */
static size_t columns_of(cudnnRNNDescriptor_t rnn, size_t linear) {
  return linear < GATES ? rnn->inputs : rnn->width;
}

/* The reverse direction comes first, biases before matrices, h before inputs, o before i. linear LINEAR: the end. */
static size_t offset_of(cudnnRNNDescriptor_t rnn, size_t direction, size_t linear, bool bias) {
  size_t offset = GAP;
  for (size_t d = DIRECTIONS; d-- > 0;)
    for (int matrix = 0; matrix < 2; matrix++)
      for (size_t l = LINEAR; l-- > 0;) {
        if (d == direction && l == linear && bias == !matrix)
          return offset;
        offset += rnn->width * (matrix ? columns_of(rnn, l) : 1) + GAP;
      }
  return offset;
}

static size_t weight_bytes_of(cudnnRNNDescriptor_t rnn) {
  return offset_of(rnn, DIRECTIONS, LINEAR, false) * sizeof(float);
}

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, size_t *bytes) {
  BEGIN;
  NEED(handle && rnn->width > 0);
  *bytes = weight_bytes_of(rnn);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int32_t pseudo_layer,
                                      size_t bytes, const void *space, int32_t linear_layer,
                                      cudnnTensorDescriptor_t matrix, void **matrix_at, cudnnTensorDescriptor_t bias,
                                      void **bias_at) {
  BEGIN;
  NEED(handle && bytes == weight_bytes_of(rnn) && space);
  NEED(pseudo_layer >= 0 && pseudo_layer < DIRECTIONS && linear_layer >= 0 && linear_layer < LINEAR);
  float *weights = (float *)(uintptr_t)space;
  int rows = (int)rnn->width, columns = (int)columns_of(rnn, (size_t)linear_layer);
  set_tensor(matrix, (int[]){1, rows, columns}, (int[]){rows * columns, columns, 1});
  set_tensor(bias, (int[]){1, rows, 1}, (int[]){rows, 1, 1});
  *matrix_at = weights + offset_of(rnn, (size_t)pseudo_layer, (size_t)linear_layer, false);
  *bias_at = weights + offset_of(rnn, (size_t)pseudo_layer, (size_t)linear_layer, true);
  return CUDNN_STATUS_SUCCESS;
}

/* --- a layer ------------------------------------------------------------------------------------------------------ */

struct layer {
  cudnnRNNDescriptor_t rnn;
  cudnnRNNDataDescriptor_t data; /* of x */
  float *gates, *cells;
};

static uint64_t hash(const void *data, size_t bytes) {
  uint64_t h = 1;
  for (size_t i = 0; i < bytes; i++)
    h = (h ^ ((const unsigned char *)data)[i]) * 0x100000001B3u;
  return h;
}

static void poison(void *space, size_t bytes) {
  memset(space, 0xFF, bytes); /* NaNs */
}

/* The packed layout: rows of a step side by side, of the sequences that have it. */
static size_t row_of(const struct layer *l, size_t sequence, size_t step) {
  size_t row = sequence;
  for (size_t s = 0; s < l->data->sequences; s++)
    row += (size_t)l->data->lengths[s] < step ? (size_t)l->data->lengths[s] : step;
  return row;
}

/* The row of a direction's n-th step in a sequence. */
static size_t row_at(const struct layer *l, size_t direction, size_t sequence, size_t n) {
  return row_of(l, sequence, direction == 0 ? n : (size_t)l->data->lengths[sequence] - 1 - n);
}

static float *gates_of(const struct layer *l, size_t direction, size_t row) {
  return l->gates + (direction * l->data->rows + row) * GATES * l->rnn->width;
}

static float *cells_of(const struct layer *l, size_t direction, size_t row) {
  return l->cells + (direction * l->data->rows + row) * l->rnn->width;
}

static double logistic(double x) {
  return 1 / (1 + exp(-x));
}

/* The output of linear layer `linear` for input v and one unit. */
static double linear_sum(const struct layer *l, const float *weights, size_t direction, size_t linear, size_t unit,
                         const float *v) {
  size_t columns = columns_of(l->rnn, linear);
  const float *row = weights + offset_of(l->rnn, direction, linear, false) + unit * columns;
  double sum = weights[offset_of(l->rnn, direction, linear, true) + unit];
  for (size_t k = 0; v && k < columns; k++)
    sum += (double)row[k] * v[k];
  return sum;
}

/* h, c: of the step before, or NULL. */
static void forward_step(const struct layer *l, const float *weights, size_t direction, size_t row, const float *x,
                         const float *h, const float *c, float *y) {
  size_t width = l->rnn->width;
  float *gates = gates_of(l, direction, row), *cells = cells_of(l, direction, row);
  for (size_t u = 0; u < width; u++) {
    double a[GATES];
    for (size_t g = 0; g < GATES; g++)
      a[g] = linear_sum(l, weights, direction, g, u, x) + linear_sum(l, weights, direction, GATES + g, u, h);
    double i = logistic(a[0]), f = logistic(a[1]), cell = tanh(a[2]), o = logistic(a[3]);
    double updated = f * (c ? c[u] : 0) + i * cell;
    gates[u] = (float)i, gates[width + u] = (float)f, gates[2 * width + u] = (float)cell;
    gates[3 * width + u] = (float)o, cells[u] = (float)updated, y[u] = (float)(o * tanh(updated));
  }
}

static void forward_sequence(const struct layer *l, const float *weights, size_t direction, size_t sequence,
                             const float *x, float *y) {
  size_t width = l->rnn->width, before = 0;
  for (size_t n = 0; n < (size_t)l->data->lengths[sequence]; n++) {
    size_t row = row_at(l, direction, sequence, n);
    float *out = y + direction * width;
    forward_step(l, weights, direction, row, x + row * l->rnn->inputs, n > 0 ? out + before * DIRECTIONS * width : NULL,
                 n > 0 ? cells_of(l, direction, before) : NULL, out + row * DIRECTIONS * width);
    before = row;
  }
}

static bool same_lengths(cudnnRNNDataDescriptor_t x, cudnnRNNDataDescriptor_t y, const int32_t *lengths) {
  size_t bytes = x->sequences * sizeof *lengths;
  return x->sequences == y->sequences && memcmp(x->lengths, y->lengths, bytes) == 0 && lengths &&
         memcmp(x->lengths, lengths, bytes) == 0;
}

static bool is_state(cudnnTensorDescriptor_t t, cudnnRNNDescriptor_t rnn, cudnnRNNDataDescriptor_t x) {
  int sequences = (int)x->sequences, width = (int)rnn->width;
  return t->dimensions == 3 && t->sizes[0] == DIRECTIONS && t->sizes[1] == sequences && t->sizes[2] == width &&
         t->strides[0] == sequences * width && t->strides[1] == width && t->strides[2] == 1;
}

static struct layer layer_of(cudnnRNNDescriptor_t rnn, cudnnRNNDataDescriptor_t x, void *reserve) {
  float *gates = (float *)((struct reserve *)reserve + 1);
  return (struct layer){rnn, x, gates, gates + DIRECTIONS * x->rows * GATES * rnn->width};
}

/* The checks of all three calls. */
#define NEED_TERMS                                                                                                     \
  NEED(handle && handle->stream_set);                                                                                  \
  NEED(x_data->width == rnn->inputs && y_data->width == DIRECTIONS * rnn->width);                                      \
  NEED(same_lengths(x_data, y_data, device_lengths) && is_state(h, rnn, x_data));                                      \
  NEED(weight_bytes == weight_bytes_of(rnn) && work_bytes >= work_bytes_of(x_data));                                   \
  NEED((uintptr_t)work % 256 == 0 && (uintptr_t)reserve % 256 == 0)

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t mode,
                              const int32_t device_lengths[], cudnnRNNDataDescriptor_t x_data, const void *x,
                              cudnnRNNDataDescriptor_t y_data, void *y, cudnnTensorDescriptor_t h, const void *hx,
                              void *hy, cudnnTensorDescriptor_t c, const void *cx, void *cy, size_t weight_bytes,
                              const void *weights, size_t work_bytes, void *work, size_t reserve_bytes, void *reserve) {
  bool training = mode == CUDNN_FWD_MODE_TRAINING;
  BEGIN;
  NEED_TERMS;
  NEED(!hx && !hy && !cx && !cy && is_state(c, rnn, x_data));
  NEED(!training || (reserve && reserve_bytes >= reserve_bytes_of(rnn, x_data)));
  void *own = training ? reserve : malloc(reserve_bytes_of(rnn, x_data));
  struct layer l = layer_of(rnn, x_data, own);
  poison(own, reserve_bytes_of(rnn, x_data));
  poison(y, x_data->rows * y_data->width * sizeof(float));
  poison(work, work_bytes);
  for (size_t d = 0; d < DIRECTIONS; d++)
    for (size_t s = 0; s < x_data->sequences; s++)
      forward_sequence(&l, weights, d, s, x, y);
  *(struct reserve *)own =
      (struct reserve){FORWARD_DONE, hash(x, x_data->rows * x_data->width * sizeof(float)),
                       hash(y, x_data->rows * y_data->width * sizeof(float)), hash(weights, weight_bytes)};
  if (!training)
    free(own);
  fake_cudnn_state.forward++;
  return CUDNN_STATUS_SUCCESS;
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* e += W^T da, for the linear layers `first` ... `first` + GATES - 1. */
static void add_back(const struct layer *l, const float *weights, size_t direction, size_t first, const float *da,
                     double *e) {
  size_t width = l->rnn->width, columns = columns_of(l->rnn, first);
  for (size_t g = 0; g < GATES; g++) {
    const float *matrix = weights + offset_of(l->rnn, direction, first + g, false);
    for (size_t u = 0; u < width; u++)
      for (size_t k = 0; k < columns; k++)
        e[k] += (double)matrix[u * columns + k] * da[g * width + u];
  }
}

/* Gates become the gradients of their sums; e: the gradient of h, dc: that of the cells, which becomes the one of the
 * step before. */
static void backward_step(const struct layer *l, float *gates, const float *cells, const float *before, const double *e,
                          double *dc) {
  size_t width = l->rnn->width;
  for (size_t u = 0; u < width; u++) {
    double i = gates[u], f = gates[width + u], g = gates[2 * width + u], o = gates[3 * width + u];
    double squashed = tanh(cells[u]), d = dc[u] + e[u] * o * (1 - squashed * squashed);
    gates[u] = (float)(d * g * i * (1 - i));
    gates[width + u] = (float)(d * (before ? before[u] : 0) * f * (1 - f));
    gates[2 * width + u] = (float)(d * i * (1 - g * g));
    gates[3 * width + u] = (float)(e[u] * squashed * o * (1 - o));
    dc[u] = d * f;
  }
}

static void backward_sequence(const struct layer *l, const float *weights, size_t direction, size_t sequence,
                              const float *dy, double *dx) {
  size_t width = l->rnn->width, count = (size_t)l->data->lengths[sequence], later = 0;
  double *e = calloc(2 * width, sizeof *e), *dc = e + width;
  for (size_t n = count; n-- > 0;) {
    size_t row = row_at(l, direction, sequence, n);
    for (size_t u = 0; u < width; u++)
      e[u] = dy[row * DIRECTIONS * width + direction * width + u];
    if (n + 1 < count)
      add_back(l, weights, direction, GATES, gates_of(l, direction, later), e);
    backward_step(l, gates_of(l, direction, row), cells_of(l, direction, row),
                  n > 0 ? cells_of(l, direction, row_at(l, direction, sequence, n - 1)) : NULL, e, dc);
    add_back(l, weights, direction, 0, gates_of(l, direction, row), dx + row * l->rnn->inputs);
    later = row;
  }
  free(e);
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, const int32_t device_lengths[],
                                      cudnnRNNDataDescriptor_t y_data, const void *y, const void *dy,
                                      cudnnRNNDataDescriptor_t x_data, void *dx, cudnnTensorDescriptor_t h,
                                      const void *hx, const void *dhy, void *dhx, cudnnTensorDescriptor_t c,
                                      const void *cx, const void *dcy, void *dcx, size_t weight_bytes,
                                      const void *weights, size_t work_bytes, void *work, size_t reserve_bytes,
                                      void *reserve) {
  struct reserve *left = reserve;
  BEGIN;
  NEED_TERMS;
  NEED(!hx && !dhy && !dhx && !cx && !dcy && !dcx && is_state(c, rnn, x_data) && dx);
  NEED(reserve_bytes == reserve_bytes_of(rnn, x_data) && left->state == FORWARD_DONE);
  NEED(left->y == hash(y, x_data->rows * y_data->width * sizeof(float)));
  NEED(left->weights == hash(weights, weight_bytes));
  struct layer l = layer_of(rnn, x_data, reserve);
  size_t count = x_data->rows * x_data->width;
  double *sums = calloc(count, sizeof *sums);
  poison(work, work_bytes);
  for (size_t d = 0; d < DIRECTIONS; d++)
    for (size_t s = 0; s < x_data->sequences; s++)
      backward_sequence(&l, weights, d, s, dy, sums);
  for (size_t i = 0; i < count; i++)
    ((float *)dx)[i] = (float)sums[i];
  free(sums);
  left->state = BACKWARD_DONE;
  fake_cudnn_state.backward_data++;
  return CUDNN_STATUS_SUCCESS;
}

/* v: input of the linear layer; NULL: zeros. */
static void add_linear_gradient(const struct layer *l, size_t direction, size_t linear, const float *da, const float *v,
                                double *gradients) {
  size_t columns = columns_of(l->rnn, linear);
  double *matrix = gradients + offset_of(l->rnn, direction, linear, false);
  double *bias = gradients + offset_of(l->rnn, direction, linear, true);
  for (size_t u = 0; u < l->rnn->width; u++) {
    bias[u] += da[u];
    for (size_t k = 0; v && k < columns; k++)
      matrix[u * columns + k] += (double)da[u] * v[k];
  }
}

static void add_gradients(const struct layer *l, size_t direction, size_t sequence, const float *x, const float *y,
                          double *gradients) {
  size_t width = l->rnn->width, before = 0;
  for (size_t n = 0; n < (size_t)l->data->lengths[sequence]; n++) {
    size_t row = row_at(l, direction, sequence, n);
    const float *da = gates_of(l, direction, row), *h = y + before * DIRECTIONS * width + direction * width;
    for (size_t g = 0; g < GATES; g++) {
      add_linear_gradient(l, direction, g, da + g * width, x + row * l->rnn->inputs, gradients);
      add_linear_gradient(l, direction, GATES + g, da + g * width, n > 0 ? h : NULL, gradients);
    }
    before = row;
  }
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnWgradMode_t mode,
                                         const int32_t device_lengths[], cudnnRNNDataDescriptor_t x_data, const void *x,
                                         cudnnTensorDescriptor_t h, const void *hx, cudnnRNNDataDescriptor_t y_data,
                                         const void *y, size_t weight_bytes, void *gradients, size_t work_bytes,
                                         void *work, size_t reserve_bytes, void *reserve) {
  struct reserve *left = reserve;
  BEGIN;
  NEED_TERMS;
  NEED(mode == CUDNN_WGRAD_MODE_ADD && !hx);
  NEED(reserve_bytes == reserve_bytes_of(rnn, x_data) && left->state == BACKWARD_DONE);
  NEED(left->x == hash(x, x_data->rows * x_data->width * sizeof(float)));
  NEED(left->y == hash(y, x_data->rows * y_data->width * sizeof(float)));
  struct layer l = layer_of(rnn, x_data, reserve);
  size_t count = weight_bytes / sizeof(float);
  double *sums = calloc(count, sizeof *sums);
  poison(work, work_bytes);
  for (size_t d = 0; d < DIRECTIONS; d++)
    for (size_t s = 0; s < x_data->sequences; s++)
      add_gradients(&l, d, s, x, y, sums);
  for (size_t i = 0; i < count; i++)
    ((float *)gradients)[i] += (float)sums[i];
  free(sums);
  left->state = 0;
  fake_cudnn_state.backward_weights++;
  return CUDNN_STATUS_SUCCESS;
}
