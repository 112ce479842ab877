/* Bidirectional LSTM layers by cuDNN, which is loaded at run time like cuBLASLt (products.c). cuDNN takes rows in the
 * order of steps, which is its packed layout. Weights are copied to cuDNN's weight space, and gradients are added from
 * it: cuDNN promises no layout except the one that it reports. cuDNN applies no dropout; Linnet applies it between
 * layers.
 *
 * If a call fails, the device logs a warning and does not use cuDNN again. Layers then run each direction by
 * themselves. Layout of the workspace, with each part at a multiple of 256 bytes:
 *
 *   | x | weight space | temporary |                     forward; rows in the order of steps
 *   | x | weight space | temporary | dy | dx | gradients | backward
 *   | y | reserve |                                       saved for backward; y: cuDNN's output, in floats
 */
#include <assert.h>
#include <dlfcn.h>
#include <string.h>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cudnn_api.h"
#include "base/arena.h"
#include "base/base.h"
#include "base/numbers.h"

enum { PLANS = 8, ALIGNMENT = 256, GATES = 4, DIRECTIONS = 2 };

/* name in the struct, name in the library */
#define FUNCTIONS(f)                                                                                                   \
  f(version, cudnnGetVersion) f(error_string, cudnnGetErrorString) f(create, cudnnCreate) f(destroy, cudnnDestroy)     \
      f(set_stream, cudnnSetStream) f(tensor_create, cudnnCreateTensorDescriptor)                                      \
          f(tensor_destroy, cudnnDestroyTensorDescriptor) f(tensor_set, cudnnSetTensorNdDescriptor)                    \
              f(tensor_get, cudnnGetTensorNdDescriptor) f(dropout_create, cudnnCreateDropoutDescriptor)                \
                  f(dropout_destroy, cudnnDestroyDropoutDescriptor) f(dropout_set, cudnnSetDropoutDescriptor)          \
                      f(rnn_create, cudnnCreateRNNDescriptor) f(rnn_destroy, cudnnDestroyRNNDescriptor)                \
                          f(rnn_set, cudnnSetRNNDescriptor_v8) f(data_create, cudnnCreateRNNDataDescriptor)            \
                              f(data_destroy, cudnnDestroyRNNDataDescriptor) f(data_set, cudnnSetRNNDataDescriptor)    \
                                  f(temporary_sizes, cudnnGetRNNTempSpaceSizes)                                        \
                                      f(weight_bytes, cudnnGetRNNWeightSpaceSize)                                      \
                                          f(weight_params, cudnnGetRNNWeightParams) f(forward, cudnnRNNForward)        \
                                              f(backward_data, cudnnRNNBackwardData_v8)                                \
                                                  f(backward_weights, cudnnRNNBackwardWeights_v8)

/* Descriptors for one shape of layers, made when the shape first occurs. */
struct plan {
  size_t inputs, width, weight_bytes;
  cudnnRNNDescriptor_t rnn;
};

struct linnet_cuda_cudnn {
  struct linnet_device *device;
  struct linnet_context *context;
  void *library;
  cudnnHandle_t handle;
  cudnnMathType_t math;
  cudnnDropoutDescriptor_t dropout;                      /* of rate 0 */
  cudnnTensorDescriptor_t state, matrix, bias;           /* state: (DIRECTIONS, sequences, H); cuDNN fills the others */
  cudnnRNNDataDescriptor_t x_data, y_data;               /* of the current call, as is `state` */
#define MEMBER(name, symbol) __typeof__(&(symbol)) name; /* NOLINT(bugprone-macro-parentheses): declares `name` */
  FUNCTIONS(MEMBER)
  struct plan plans[PLANS]; /* the first `count` are in use; if all are, new ones replace them in turn from `next` on */
  size_t count, next;
  bool failed; /* cuDNN is not used any more */
};

/* --- opening ------------------------------------------------------------------------------------------------------ */

static bool find_functions(struct linnet_cuda_cudnn *c) {
#define FIND(name, symbol)                                                                                             \
  *(void **)(void *)&c->name = dlsym(c->library, #symbol);                                                             \
  if (!c->name)                                                                                                        \
    return false;
  FUNCTIONS(FIND)
  return true;
}

/* A version of cuDNN, with the libraries that cuDNN itself loads when a layer runs. open_all loads them first, because
 * cuDNN ends the process if one of them is missing. */
enum { PARTS = 4 };
static const struct library {
  const char *name, *parts[PARTS];
} libraries[] = {
    {"libcudnn.so.9", {"libcudnn_ops.so.9", "libcudnn_adv.so.9"}},
    {"libcudnn.so.8",
     {"libcudnn_ops_infer.so.8", "libcudnn_ops_train.so.8", "libcudnn_adv_infer.so.8", "libcudnn_adv_train.so.8"}}};

static void *open_all(const struct library *library) {
  const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  for (size_t i = 0; i < PARTS && library->parts[i]; i++)
    if (!dlopen(library->parts[i], flags))
      return NULL;
  return dlopen(library->name, flags);
}

/* Loads the first library that works on this device. It is never unloaded, because it registers code with the driver.
 */
static bool open_library(struct linnet_cuda_cudnn *c) {
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    c->library = open_all(&libraries[i]);
    if (c->library && find_functions(c) && c->create(&c->handle) == CUDNN_STATUS_SUCCESS)
      return true;
    if (c->library)
      dlclose(c->library);
  }
  c->library = NULL, c->handle = NULL;
  linnet_cuda_forgive(c->device);
  return false;
}

/* The device does not use the library any more. */
static bool give_up(struct linnet_cuda_cudnn *c, const char *why) {
  linnet_log(c->context, LINNET_LOG_WARNING, "%s: cuDNN %zu: %s: LSTM layers continue without it", c->device->name,
             c->version(), why);
  c->failed = true;
  linnet_cuda_forgive(c->device);
  return false;
}

static bool good(struct linnet_cuda_cudnn *c, cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS || give_up(c, c->error_string(status));
}

static bool create_descriptors(struct linnet_cuda_cudnn *c) {
  return good(c, c->set_stream(c->handle, linnet_cuda_stream(c->device))) && good(c, c->dropout_create(&c->dropout)) &&
         good(c, c->dropout_set(c->dropout, c->handle, 0, NULL, 0, 0)) && good(c, c->tensor_create(&c->state)) &&
         good(c, c->tensor_create(&c->matrix)) && good(c, c->tensor_create(&c->bias)) &&
         good(c, c->data_create(&c->x_data)) && good(c, c->data_create(&c->y_data));
}

/* Products in TF32 are at least as exact as those in bfloat16. cuDNN's other tensor-core mode would convert the
 * operands to float16, whose range is too small for gradients. */
static cudnnMathType_t math_of(enum linnet_precision precision) {
  return precision == LINNET_FLOAT32 ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
}

static struct linnet_cuda_cudnn *open_cudnn(struct linnet_cuda_device *device) {
  struct linnet_cuda_cudnn *c = linnet_calloc(device->context, 1, sizeof *c);
  if (!c)
    return NULL;
  c->device = &device->base, c->context = device->context;
  c->math = math_of(device->precision);
  if (open_library(c) && create_descriptors(c))
    return c;
  linnet_cuda_cudnn_close(c);
  return NULL;
}

static void release_plan(struct linnet_cuda_cudnn *c, struct plan *plan) {
  if (plan->rnn)
    c->rnn_destroy(plan->rnn);
  *plan = (struct plan){0};
}

void linnet_cuda_cudnn_close(struct linnet_cuda_cudnn *c) {
  if (!c)
    return;
  for (size_t i = 0; i < c->count; i++)
    release_plan(c, &c->plans[i]);
  cudnnTensorDescriptor_t tensors[] = {c->state, c->matrix, c->bias};
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
    if (tensors[i])
      c->tensor_destroy(tensors[i]);
  cudnnRNNDataDescriptor_t data[] = {c->x_data, c->y_data};
  for (size_t i = 0; i < sizeof data / sizeof *data; i++)
    if (data[i])
      c->data_destroy(data[i]);
  if (c->dropout)
    c->dropout_destroy(c->dropout);
  if (c->handle)
    c->destroy(c->handle);
  if (c->library)
    dlclose(c->library);
  linnet_free(c->context, c);
}

/* NULL: cuDNN is missing or does not work. */
static struct linnet_cuda_cudnn *cudnn_of(struct linnet_device *device) {
  struct linnet_cuda_device *d = linnet_cuda_device(device);
  if (!d->cudnn_sought) {
    d->cudnn_sought = true;
    d->cudnn = open_cudnn(d);
    linnet_log(d->context, LINNET_LOG_INFO, "%s: LSTM layers use %s", device->name,
               d->cudnn ? "cuDNN" : "Linnet's kernels, as cuDNN is missing or unusable");
  }
  return d->cudnn && !d->cudnn->failed ? d->cudnn : NULL;
}

/* --- a call ------------------------------------------------------------------------------------------------------- */

/* A layer, and the batch that it processes. */
struct call {
  struct linnet_cuda_cudnn *cudnn;
  const struct linnet_lstm_layer *layer;
  const struct linnet_cuda_steps *steps;
  size_t rows;
  const struct plan *plan;
  size_t temporary_bytes, reserve_bytes;
};

struct spaces {
  void *x, *y, *dy, *dx; /* (rows, I), (rows, 2H), (rows, 2H), (rows, I), in the order of steps */
  void *weights, *temporary, *gradients, *reserve;
};

static bool describe_layer(struct linnet_cuda_cudnn *c, struct plan *plan) {
  int32_t width = (int32_t)plan->width;
  return good(c, c->rnn_create(&plan->rnn)) &&
         good(c, c->rnn_set(plan->rnn, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS, CUDNN_BIDIRECTIONAL,
                            CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, c->math, (int32_t)plan->inputs,
                            width, width, 1, c->dropout, CUDNN_RNN_PADDED_IO_DISABLED)) &&
         good(c, c->weight_bytes(c->handle, plan->rnn, &plan->weight_bytes));
}

/* The plan for the shape of a layer, made when the shape first occurs. NULL: cuDNN has failed. */
static const struct plan *plan_of(struct linnet_cuda_cudnn *c, const struct linnet_lstm_layer *l) {
  for (size_t i = 0; i < c->count; i++)
    if (c->plans[i].inputs == l->inputs && c->plans[i].width == l->width)
      return &c->plans[i];
  struct plan *plan = &c->plans[c->next];
  release_plan(c, plan);
  c->next = (c->next + 1) % PLANS;
  c->count = c->count < PLANS ? c->count + 1 : PLANS;
  plan->inputs = l->inputs, plan->width = l->width;
  return describe_layer(c, plan) ? plan : NULL;
}

static bool describe_rows(struct linnet_cuda_cudnn *c, cudnnRNNDataDescriptor_t data,
                          const struct linnet_cuda_batch *batch, size_t width) {
  return good(c, c->data_set(data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, (int)batch->steps.longest,
                             (int)batch->steps.sequences, (int)width, batch->host_lengths, NULL));
}

static cudnnForwardMode_t mode_of(const struct linnet_lstm_layer *l) {
  return l->forward_only ? CUDNN_FWD_MODE_INFERENCE : CUDNN_FWD_MODE_TRAINING;
}

static bool describe_state(struct linnet_cuda_cudnn *c, size_t sequences, size_t width) {
  const int sizes[] = {DIRECTIONS, (int)sequences, (int)width};
  const int strides[] = {(int)(sequences * width), (int)width, 1};
  return good(c, c->tensor_set(c->state, CUDNN_DATA_FLOAT, 3, sizes, strides));
}

/* Returns whether cuDNN is available and supports this layer and batch. Describes both to cuDNN. */
static bool describe(struct linnet_device *device, const struct linnet_lstm_layer *l, const struct linnet_pack *p,
                     struct call *call) {
  const struct linnet_cuda_batch *batch = &linnet_cuda_device(device)->batch;
  struct linnet_cuda_cudnn *c = cudnn_of(device);
  assert(batch->offsets == p->offsets);
  if (!c || batch->steps.sequences == 0)
    return false;
  *call = (struct call){
      .cudnn = c, .layer = l, .steps = &batch->steps, .rows = p->offsets[p->sequences], .plan = plan_of(c, l)};
  return call->plan && describe_rows(c, c->x_data, batch, l->inputs) &&
         describe_rows(c, c->y_data, batch, DIRECTIONS * l->width) &&
         describe_state(c, batch->steps.sequences, l->width) &&
         good(c, c->temporary_sizes(c->handle, call->plan->rnn, mode_of(l), c->x_data, &call->temporary_bytes,
                                    &call->reserve_bytes));
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void *take(struct linnet_arena *arena, size_t bytes) {
  size_t padded;
  void *memory = linnet_arena_take(arena, linnet_add_size(bytes, ALIGNMENT, &padded) ? padded : SIZE_MAX, 1);
  return linnet_align_up(memory, ALIGNMENT);
}

static void *take_rows(const struct call *call, struct linnet_arena *arena, size_t width) {
  size_t bytes;
  return take(arena, linnet_mul_size(call->rows, width * sizeof(float), &bytes) ? bytes : SIZE_MAX);
}

static struct spaces plan_spaces(const struct call *call, struct linnet_arena *arena) {
  const struct linnet_lstm_layer *l = call->layer;
  struct spaces s = {0};
  s.x = take_rows(call, arena, l->inputs);
  s.weights = take(arena, call->plan->weight_bytes);
  s.temporary = take(arena, call->temporary_bytes);
  if (l->forward_only)
    return s;
  s.dy = take_rows(call, arena, DIRECTIONS * l->width);
  s.dx = take_rows(call, arena, l->inputs);
  s.gradients = take(arena, call->plan->weight_bytes);
  return s;
}

/* Saved for backward: cuDNN's reserve, and y as cuDNN wrote it, which the activation type may not hold exactly. */
static void plan_saved(const struct call *call, struct linnet_arena *arena, struct spaces *s) {
  s->y = take_rows(call, arena, DIRECTIONS * call->layer->width);
  s->reserve = call->layer->forward_only ? NULL : take(arena, call->reserve_bytes);
}

static struct spaces lay_out_spaces(const struct call *call, void *saved, void *work) {
  struct linnet_arena for_saved = {.base = saved, .size = SIZE_MAX}, for_work = {.base = work, .size = SIZE_MAX};
  struct spaces s = plan_spaces(call, &for_work);
  plan_saved(call, &for_saved, &s);
  return s;
}

bool linnet_cuda_lstm_layer_bytes(struct linnet_device *device, const struct linnet_lstm_layer *l,
                                  const struct linnet_pack *p, size_t *saved, size_t *work) {
  struct linnet_arena for_saved = {0}, for_work = {0};
  struct call call;
  *saved = *work = 0;
  if (!describe(device, l, p, &call))
    return false;
  struct spaces s = plan_spaces(&call, &for_work);
  plan_saved(&call, &for_saved, &s);
  *saved = for_saved.used, *work = for_work.used;
  return true;
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

/* Checks that a tensor of the weight space is (rows, columns) without gaps. */
static bool has_shape(struct linnet_cuda_cudnn *c, cudnnTensorDescriptor_t tensor, size_t rows, size_t columns) {
  cudnnDataType_t type;
  int dimensions = 0, sizes[3] = {0}, strides[3] = {0};
  if (!good(c, c->tensor_get(tensor, 3, &type, &dimensions, sizes, strides)))
    return false;
  return (type == CUDNN_DATA_FLOAT && dimensions == 3 && sizes[0] == 1 && sizes[1] == (int)rows &&
          sizes[2] == (int)columns && strides[1] == (int)columns && strides[2] == 1) ||
         give_up(c, "weights of another shape");
}

static void add_tensor(struct linnet_cuda_lstm_tensors *t, void *space, size_t offset, size_t size) {
  t->tensor[t->count].space = space;
  t->tensor[t->count].offset = offset, t->tensor[t->count].size = size;
  t->count++;
  t->largest = size > t->largest ? size : t->largest;
}

/* The tensors of a gate. In cuDNN, linear layers 0 ... 3 multiply the inputs and 4 ... 7 multiply h; the gates are in
 * the same order as in Linnet. */
static bool add_gate(const struct call *call, size_t direction, size_t linear, void *space,
                     struct linnet_cuda_lstm_tensors *t) {
  struct linnet_cuda_cudnn *c = call->cudnn;
  const struct linnet_lstm_offsets *o = &call->layer->directions[direction];
  size_t width = call->layer->width, gate = linear % GATES;
  bool recurrent = linear >= GATES;
  size_t columns = recurrent ? width : call->layer->inputs;
  void *matrix = NULL, *bias = NULL;
  if (!good(c, c->weight_params(c->handle, call->plan->rnn, (int32_t)direction, call->plan->weight_bytes, space,
                                (int32_t)linear, c->matrix, &matrix, c->bias, &bias)) ||
      !has_shape(c, c->matrix, width, columns) || !has_shape(c, c->bias, width, 1))
    return false;
  add_tensor(t, matrix, (recurrent ? o->weight_hh : o->weight_ih) + gate * width * columns, width * columns);
  add_tensor(t, bias, (recurrent ? o->bias_hh : o->bias_ih) + gate * width, width);
  return true;
}

static bool find_tensors(const struct call *call, void *space, struct linnet_cuda_lstm_tensors *t) {
  *t = (struct linnet_cuda_lstm_tensors){0};
  for (size_t d = 0; d < DIRECTIONS; d++)
    for (size_t linear = 0; linear < 2 * GATES; linear++)
      if (!add_gate(call, d, linear, space, t))
        return false;
  return true;
}

/* Sets the gaps of the weight space to zero. */
static bool copy_weights(const struct call *call, void *space) {
  struct linnet_device *device = call->cudnn->device;
  struct linnet_cuda_lstm_tensors t;
  if (!find_tensors(call, space, &t))
    return false;
  linnet_cuda_zero(device, space, call->plan->weight_bytes);
  linnet_cuda_lstm_weights(device, &t, call->layer->weights);
  return true;
}

/* --- the ops ------------------------------------------------------------------------------------------------------ */

bool linnet_cuda_lstm_layer_forward(struct linnet_device *device, const struct linnet_lstm_layer *l,
                                    const struct linnet_pack *p, const void *x, void *saved, void *out, void *work) {
  struct call call;
  if (!describe(device, l, p, &call))
    return false;
  struct linnet_cuda_cudnn *c = call.cudnn;
  struct spaces s = lay_out_spaces(&call, saved, work);
  linnet_cuda_rows_to_steps(device, call.steps, l->inputs, x, s.x);
  if (!copy_weights(&call, s.weights) ||
      !good(c, c->forward(c->handle, call.plan->rnn, mode_of(l), call.steps->lengths, c->x_data, s.x, c->y_data, s.y,
                          c->state, NULL, NULL, c->state, NULL, NULL, call.plan->weight_bytes, s.weights,
                          call.temporary_bytes, s.temporary, s.reserve ? call.reserve_bytes : 0, s.reserve)))
    return false;
  linnet_cuda_rows_from_steps(device, call.steps, DIRECTIONS * l->width, s.y, out);
  return true;
}

static bool backward(const struct call *call, const struct spaces *s) {
  struct linnet_cuda_cudnn *c = call->cudnn;
  const struct plan *plan = call->plan;
  const int32_t *lengths = call->steps->lengths;
  linnet_cuda_zero(c->device, s->gradients, plan->weight_bytes);
  return good(c, c->backward_data(c->handle, plan->rnn, lengths, c->y_data, s->y, s->dy, c->x_data, s->dx, c->state,
                                  NULL, NULL, NULL, c->state, NULL, NULL, NULL, plan->weight_bytes, s->weights,
                                  call->temporary_bytes, s->temporary, call->reserve_bytes, s->reserve)) &&
         good(c, c->backward_weights(c->handle, plan->rnn, CUDNN_WGRAD_MODE_ADD, lengths, c->x_data, s->x, c->state,
                                     NULL, c->y_data, s->y, plan->weight_bytes, s->gradients, call->temporary_bytes,
                                     s->temporary, call->reserve_bytes, s->reserve));
}

bool linnet_cuda_lstm_layer_backward(struct linnet_device *device, const struct linnet_lstm_layer *l,
                                     const struct linnet_pack *p, const struct linnet_lstm_layer_gradients *g,
                                     void *work) {
  struct linnet_cuda_lstm_tensors t;
  struct call call;
  if (!describe(device, l, p, &call))
    return false;
  struct spaces s = lay_out_spaces(&call, g->saved, work);
  linnet_cuda_rows_to_steps(device, call.steps, l->inputs, g->x, s.x);
  linnet_cuda_rows_to_steps(device, call.steps, DIRECTIONS * l->width, g->dout, s.dy);
  if (!copy_weights(&call, s.weights) || !find_tensors(&call, s.gradients, &t) || !backward(&call, &s))
    return false;
  linnet_cuda_lstm_gradients(device, &t, g->gradients_add);
  if (g->dx)
    linnet_cuda_rows_from_steps(device, call.steps, l->inputs, s.dx, g->dx);
  return true;
}
