/* The parts of a CUDA device. This header needs no CUDA header. */
#ifndef LINNET_CUDA_DEVICE_H
#define LINNET_CUDA_DEVICE_H

#include <pthread.h>

#include "backend/cuda/launch.h"
#include "backend/device.h"

/* The batch that was uploaded last. */
struct linnet_cuda_batch {
  const size_t *offsets; /* the host's table: ops recognise the batch by this address */
  struct linnet_cuda_pack pack;
  const uint32_t *label_offsets; /* (sequences + 1) */
  const int *labels;
  const struct linnet_sequence_span *spans; /* (sequences), longest first */
  const struct linnet_sequence_span *host_spans;
  const struct linnet_feature_mask *masks; /* (sequences, masks per sequence) */
  struct linnet_cuda_steps steps;
  const int32_t *host_lengths;     /* (steps.sequences), longest first */
  unsigned char *staging, *memory; /* staging: host memory that copies start from; memory: its image on the device */
  size_t bytes;
};

/* Small results on their way to the host. A copy to ordinary host memory would wait for all queued work, so results are
 * copied to page-locked memory first; `wait` then copies them to their destinations. */
enum { LINNET_CUDA_LETTERS = 16, LINNET_CUDA_MAILBOX = 256 << 10 /* bytes */ };

struct linnet_cuda_mailbox {
  unsigned char *memory; /* NULL: there is none */
  size_t used, letters;
  struct {
    void *to;
    size_t offset, bytes;
  } letter[LINNET_CUDA_LETTERS];
};

/* The weights that products read. They are rounded to bfloat16 where activations are bfloat16. */
struct linnet_cuda_weights {
  const float *from;       /* (size) */
  const uint16_t *rounded; /* (size) */
  size_t size;
};

struct linnet_cuda_products;
struct linnet_cuda_cudnn;

struct linnet_cuda_device {
  struct linnet_device base; /* must be the first member */
  struct linnet_context *context;
  pthread_mutex_t mutex; /* held by the thread that uses the device */
  int index;
  enum linnet_precision precision; /* of products; if bfloat16, also of activations */
  char name[128];
  void *stream;
  void *scratch;
  struct linnet_cuda_products *products; /* NULL: no cuBLASLt */
  size_t library_products;               /* number of products that cuBLASLt has computed */
  struct linnet_cuda_cudnn *cudnn;       /* NULL: no cuDNN, or not needed so far ... */
  bool cudnn_sought;                     /* ... true if cuDNN was looked for */
  unsigned char uuid[16];                /* NVIDIA's, of this GPU alone */
  int failure;                           /* the first failure ... */
  const char *failed;                    /* ... and the kernel whose launch was refused, or NULL */
  struct linnet_cuda_mailbox mailbox;
  struct linnet_cuda_batch batch;
  float *positions; /* (position_rows, position_width): the table of positional encodings */
  size_t position_rows, position_width;
  struct linnet_cuda_weights weights;
};

extern const struct linnet_device_ops linnet_cuda_device_ops;

/* table.c: the initial state of a device of this precision. */
struct linnet_device linnet_cuda_base(const char *name, enum linnet_precision precision);

static inline struct linnet_cuda_device *linnet_cuda_device(const struct linnet_device *device) {
  return (struct linnet_cuda_device *)(uintptr_t)device;
}

/* batch.c: uploads a batch; may fail with LINNET_ERROR_MEMORY. */
enum linnet_status linnet_cuda_upload_batch(struct linnet_device *device, struct linnet_context *context,
                                            const struct linnet_host_batch *batch, void **features);
void linnet_cuda_release_batch(struct linnet_device *device);

/* products.c: loads cuBLASLt when the first product needs it. NULL: it is missing or does not work. */
struct linnet_cuda_products *linnet_cuda_products_open(struct linnet_cuda_device *device);
void linnet_cuda_products_close(struct linnet_cuda_products *products);

/* cudnn.c: LSTM layers by cuDNN, which is loaded for the first such layer. Arguments as in linnet_device_ops. */
bool linnet_cuda_lstm_layer_bytes(struct linnet_device *device, const struct linnet_lstm_layer *l,
                                  const struct linnet_pack *p, size_t *saved, size_t *work);
bool linnet_cuda_lstm_layer_forward(struct linnet_device *device, const struct linnet_lstm_layer *l,
                                    const struct linnet_pack *p, const void *x, void *saved, void *out, void *work);
bool linnet_cuda_lstm_layer_backward(struct linnet_device *device, const struct linnet_lstm_layer *l,
                                     const struct linnet_pack *p, const struct linnet_lstm_layer_gradients *g,
                                     void *work);
void linnet_cuda_cudnn_close(struct linnet_cuda_cudnn *cudnn);

/* nccl.c: links by NCCL. */
extern const struct linnet_link_ops linnet_cuda_link_ops;

#endif
