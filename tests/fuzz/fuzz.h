/* What the fuzz targets and the two things that run them share: libFuzzer, or driver.c where there is none. */
#ifndef LINNET_FUZZ_H
#define LINNET_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The target: takes any bytes, aborts if something is wrong, returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Changes data (size) in place into something of at most `capacity` bytes; returns its size. Of the runner. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

/* The same for a target that knows its format; optional, used instead if the target has one. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);

#endif
