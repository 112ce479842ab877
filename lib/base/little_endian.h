/* Numbers in little-endian bytes, whatever the byte order of the machine. */
#ifndef LINNET_LITTLE_ENDIAN_H
#define LINNET_LITTLE_ENDIAN_H

#include <stdint.h>

static inline uint32_t linnet_load_u32(const unsigned char *b) {
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t linnet_load_u64(const unsigned char *b) {
  return linnet_load_u32(b) | (uint64_t)linnet_load_u32(b + 4) << 32;
}

static inline void linnet_store_u32(unsigned char *b, uint32_t value) {
  b[0] = (unsigned char)value;
  b[1] = (unsigned char)(value >> 8);
  b[2] = (unsigned char)(value >> 16);
  b[3] = (unsigned char)(value >> 24);
}

static inline void linnet_store_u64(unsigned char *b, uint64_t value) {
  linnet_store_u32(b, (uint32_t)value);
  linnet_store_u32(b + 4, (uint32_t)(value >> 32));
}

static inline float linnet_load_float(const unsigned char *b) {
  union {
    uint32_t bits;
    float value;
  } word = {.bits = linnet_load_u32(b)};
  return word.value;
}

static inline double linnet_load_double(const unsigned char *b) {
  union {
    uint64_t bits;
    double value;
  } word = {.bits = linnet_load_u64(b)};
  return word.value;
}

static inline void linnet_store_float(unsigned char *b, float value) {
  union {
    float value;
    uint32_t bits;
  } word = {.value = value};
  linnet_store_u32(b, word.bits);
}

static inline void linnet_store_double(unsigned char *b, double value) {
  union {
    double value;
    uint64_t bits;
  } word = {.value = value};
  linnet_store_u64(b, word.bits);
}

#endif
