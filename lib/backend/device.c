/* Devices by name. */
#include "backend/device.h"

#include <stdlib.h>
#include <string.h>

#include <linnet/context.h>

#include "base/base.h"
#ifdef LINNET_HAVE_CUDA
#include "backend/cuda/memory.h"
#endif

enum { MAX_DEVICES = 1024 };

static enum linnet_status open_cuda(struct linnet_context *context, int index, enum linnet_precision precision,
                                    struct linnet_device **device) {
#ifdef LINNET_HAVE_CUDA
  return linnet_cuda_open(context, index, precision, device);
#else
  (void)device, (void)precision;
  return linnet_fail(context, LINNET_ERROR_DEVICE, "CUDA device %d: this build of Linnet has no CUDA backend", index);
#endif
}

size_t linnet_num_cuda_devices(void) {
#ifdef LINNET_HAVE_CUDA
  return linnet_cuda_count();
#else
  return 0;
#endif
}

/* Returns the number after "cuda:", 0 for "cuda", and -1 for anything else. */
static int cuda_index(const char *name) {
  char *end = NULL;
  if (strcmp(name, "cuda") == 0)
    return 0;
  if (strncmp(name, "cuda:", 5) != 0 || name[5] < '0' || name[5] > '9')
    return -1;
  unsigned long index = strtoul(name + 5, &end, 10);
  return *end || index >= MAX_DEVICES ? -1 : (int)index;
}

enum linnet_status linnet_device_open(struct linnet_context *context, const char *name, enum linnet_precision precision,
                                      struct linnet_device **device) {
  *device = NULL;
  if (!name || strcmp(name, "cpu") == 0)
    return LINNET_OK;
  if (precision == LINNET_INT8 && strcmp(name, "auto") == 0)
    return LINNET_OK;
  if (precision == LINNET_INT8)
    return linnet_fail(context, LINNET_ERROR_DEVICE, "device %.40s: products of 8-bit integers run on the CPU only",
                       name);
  if (strcmp(name, "auto") == 0) {
    enum linnet_status status = open_cuda(context, 0, precision, device);
    return status == LINNET_ERROR_DEVICE ? LINNET_OK : status;
  }
  int index = cuda_index(name);
  if (index < 0)
    return linnet_fail(context, LINNET_ERROR_DEVICE, "device %.40s: expected cpu, cuda, cuda:N or auto", name);
  return open_cuda(context, index, precision, device);
}

bool linnet_device_reserve(struct linnet_device *device, struct linnet_device_buffer *buffer, size_t bytes) {
  if (bytes <= buffer->bytes && buffer->data)
    return true;
  device->ops->free(device, buffer->data);
  *buffer = (struct linnet_device_buffer){0};
  /* First with spare capacity for later growth; if that fails, without. */
  const size_t wanted[] = {bytes < SIZE_MAX / 2 ? bytes + bytes / 8 : bytes, bytes};
  for (size_t i = 0; i < 2 && !buffer->data; i++) {
    buffer->data = device->ops->alloc(device, wanted[i]);
    buffer->bytes = buffer->data ? wanted[i] : 0;
  }
  return buffer->data != NULL;
}

void linnet_device_close(struct linnet_device *device) {
  if (device && device->ops->close)
    device->ops->close(device);
}
