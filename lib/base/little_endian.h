/* Numbers in little-endian bytes, whatever the byte order of the machine. */
#ifndef LINNET_LITTLE_ENDIAN_H
#define LINNET_LITTLE_ENDIAN_H

#include <stdint.h>
#include <string.h>

/* Between the order of the machine and little-endian order. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LINNET_SWAP_16(x) __builtin_bswap16(x)
#define LINNET_SWAP_32(x) __builtin_bswap32(x)
#define LINNET_SWAP_64(x) __builtin_bswap64(x)
#else
#define LINNET_SWAP_16(x) (x)
#define LINNET_SWAP_32(x) (x)
#define LINNET_SWAP_64(x) (x)
#endif

static inline uint16_t linnet_load_u16(const unsigned char *b) {
  uint16_t value;
  memcpy(&value, b, sizeof value);
  return LINNET_SWAP_16(value);
}

static inline uint32_t linnet_load_u32(const unsigned char *b) {
  uint32_t value;
  memcpy(&value, b, sizeof value);
  return LINNET_SWAP_32(value);
}

static inline uint64_t linnet_load_u64(const unsigned char *b) {
  uint64_t value;
  memcpy(&value, b, sizeof value);
  return LINNET_SWAP_64(value);
}

static inline void linnet_store_u32(unsigned char *b, uint32_t value) {
  value = LINNET_SWAP_32(value);
  memcpy(b, &value, sizeof value);
}

static inline void linnet_store_u64(unsigned char *b, uint64_t value) {
  value = LINNET_SWAP_64(value);
  memcpy(b, &value, sizeof value);
}

static inline float linnet_load_float(const unsigned char *b) {
  uint32_t bits = linnet_load_u32(b);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline double linnet_load_double(const unsigned char *b) {
  uint64_t bits = linnet_load_u64(b);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline void linnet_store_float(unsigned char *b, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  linnet_store_u32(b, bits);
}

static inline void linnet_store_double(unsigned char *b, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  linnet_store_u64(b, bits);
}

#endif
