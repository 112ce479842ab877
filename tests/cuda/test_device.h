/* Functions of the emulated or real device that tests use. */
#ifndef LINNET_TEST_CUDA_DEVICE_H
#define LINNET_TEST_CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

/* Emulation by fibers: runs threads in the opposite order. No effect elsewhere. */
void test_cuda_reverse(bool reversed);

/* Limits the memory of an emulated device; has no effect on a real one. */
void test_cuda_limit(size_t bytes);

/* Emulated: whether devices that are opened from here on look for cuDNN, which has to be the fake one. Others do. */
void test_cuda_cudnn(bool sought);

/* Whether the bytes are in one block of an emulated device's memory. */
bool test_cuda_owns(const void *memory, size_t bytes);

/* Emulated: queued work is never done, as if a message did not come; devices that are opened are one GPU. */
void test_cuda_hang(bool hang);
void test_cuda_alike(bool same);

/* Factor for the length of sequences: a real device has time for 20 000 frames. */
size_t test_cuda_stretch(void);

/* Cases, and their sizes, are divided by this where threads are slow. */
size_t test_cuda_share(void);

#endif
