/* What tests ask of the device they run on, emulated or real. */
#ifndef LINNET_TEST_CUDA_DEVICE_H
#define LINNET_TEST_CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

/* Emulation by fibers: runs threads in the opposite order. No effect elsewhere. */
void test_cuda_reverse(bool reversed);

/* Emulated: there is no more memory than that. A device has what it has. */
void test_cuda_limit(size_t bytes);

/* Emulated: whether devices that are opened from here on look for cuDNN, which has to be the fake one. Others do. */
void test_cuda_cudnn(bool sought);

/* Sequences may be that many times as long: a device has time for 20 000 frames. */
size_t test_cuda_stretch(void);

/* Cases, and their sizes, are divided by this where threads are slow. */
size_t test_cuda_share(void);

#endif
