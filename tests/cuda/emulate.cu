/* The emulated device: launches, of which those are refused that a device would refuse, and lib/backend/cuda/memory.h
 * on host memory. Kernels run in emulate_fibers.cu or emulate_threads.cu. */
#include "emulate.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

extern "C" {
#include "backend/cuda/cuda_device.h"
#include "test_device.h"
}

namespace emulate {
__thread dim3 thread_index, block_index, block_size, grid_size;

namespace {
const char *launched = "no kernel";
std::mutex running; /* devices of several threads run one kernel at a time */
} // namespace

void fail(const char *what) {
  std::fprintf(stderr, "emulated device: %s: %s in block %u %u %u\n", launched, what, block_index.x, block_index.y,
               block_index.z);
  std::_Exit(EXIT_FAILURE);
}

void check_aligned(const void *address, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0)
    fail("four numbers at an address that is not aligned");
}

void launch(const char *kernel, dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()> &body) {
  const std::lock_guard<std::mutex> lock(running);
  launched = kernel;
  if (block.x % 32 != 0 || block.y != 1 || block.z != 1)
    fail("a block that is not emulated");
  if (block.x == 0 || block.x > MAX_THREADS)
    fail("no threads, or too many");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > INT32_MAX || grid.y > MAX_BLOCKS_YZ ||
      grid.z > MAX_BLOCKS_YZ)
    fail("no blocks, or too many");
  if (shared_bytes > MAX_SHARED)
    fail("too much shared memory");
  run(grid, block, shared_bytes, body);
}

/* --- tensor cores: the fragments of PTX ISA, "Matrix fragments for mma.m16n8k8" and "mma.m16n8k16" ---------------- */

namespace {
typedef std::uint32_t registers[MAX_WORDS];

/* An operand of a register; in bfloat16 the first is in the lower half. */
template <unsigned PACKED> double operand_of(std::uint32_t bits, unsigned which) {
  if (PACKED == 1 && (bits & 0x1fff) != 0)
    fail("an operand that is not rounded to TF32");
  return __int_as_float((int)(PACKED == 1 ? bits : which ? bits & 0xffff0000 : bits << 16));
}

/* Adds to an element of the upper and of the lower half the products in order of k. Four lanes have the registers of a
 * row of a, and of a column of b. */
template <unsigned PACKED>
void add_products(float *upper, float *lower, const registers (&of_row)[4], const registers (&of_column)[4]) {
  double sums[2] = {*upper, *lower};
  for (unsigned second = 0; second < 2; second++)
    for (unsigned lane = 0; lane < 4; lane++)
      for (unsigned which = 0; which < PACKED; which++) {
        const double right = operand_of<PACKED>(of_column[lane][4 + second], which);
        for (unsigned half = 0; half < 2; half++)
          sums[half] += operand_of<PACKED>(of_row[lane][2 * second + half], which) * right;
      }
  *upper = (float)sums[0], *lower = (float)sums[1];
}
} // namespace

void mma(unsigned packed, float *upper, float *lower, const std::uint32_t *a, const std::uint32_t *b) {
  const unsigned lane = thread_index.x % 32, row = lane / 4, column = lane % 4 * 2;
  const registers own = {a[0], a[1], a[2], a[3], b[0], b[1]};
  registers of_row[4], of_column[4];
  give(own, MAX_WORDS);
  for (unsigned t = 0; t < 4; t++)
    take(4 * row + t, of_row[t], MAX_WORDS);
  for (unsigned c = 0; c < 2; c++) {
    for (unsigned t = 0; t < 4; t++)
      take(4 * (column + c) + t, of_column[t], MAX_WORDS);
    if (packed == 1)
      add_products<1>(upper + c, lower + c, of_row, of_column);
    else
      add_products<2>(upper + c, lower + c, of_row, of_column);
  }
}
} // namespace emulate

/* Host memory that a device may still read. */
struct emulated_upload {
  const unsigned char *host;
  std::vector<unsigned char> contents; /* as it was queued */
};

struct emulated_device {
  struct linnet_cuda_device cuda;
  std::vector<unsigned char> scratch;
  std::vector<emulated_upload> uploads; /* since the last wait */
};

/* The uploads from `bytes` of host memory, or with NULL all, are done: they must have found what was there when they
 * were queued. */
static void finish_uploads(struct linnet_device *device, const void *host, std::size_t bytes) {
  const unsigned char *begin = static_cast<const unsigned char *>(host);
  std::vector<emulated_upload> left;
  for (emulated_upload &upload : reinterpret_cast<emulated_device *>(device)->uploads)
    if (begin && (upload.host >= begin + bytes || upload.host + upload.contents.size() <= begin))
      left.push_back(std::move(upload));
    else if (std::memcmp(upload.host, upload.contents.data(), upload.contents.size()) != 0)
      emulate::fail("host memory that changed before it was uploaded");
  reinterpret_cast<emulated_device *>(device)->uploads.swap(left);
}

/* Memory of all emulated devices, in bytes. */
namespace {
size_t limit = SIZE_MAX;
std::atomic<size_t> in_use, peak;
bool with_cudnn; /* this limit is not for host memory */
std::atomic<bool> hanging, alike;
std::atomic<unsigned char> opened;

/* Blocks of device memory, and their sizes. */
std::map<const unsigned char *, size_t> blocks;
std::mutex of_blocks;
} // namespace

extern "C" {
size_t linnet_cuda_count(void) {
  return 1;
}
enum linnet_status linnet_cuda_open(struct linnet_context *context, int, enum linnet_precision precision,
                                    struct linnet_device **device) {
  emulated_device *emulated = new emulated_device();
  emulated->cuda.base = linnet_cuda_base("cuda, emulated", precision);
  emulated->cuda.precision = precision;
  emulated->cuda.context = context;
  emulated->cuda.cudnn_sought = !with_cudnn;
  emulated->cuda.uuid[0] = alike ? 0 : ++opened;
  pthread_mutex_init(&emulated->cuda.mutex, nullptr);
  *device = &emulated->cuda.base;
  return LINNET_OK;
}
void linnet_cuda_close(struct linnet_device *device) {
  linnet_cuda_cudnn_close(linnet_cuda_device(device)->cudnn);
  linnet_cuda_release_batch(device);
  linnet_cuda_free(device, linnet_cuda_device(device)->positions);
  delete reinterpret_cast<emulated_device *>(device);
}
void linnet_cuda_lock(struct linnet_device *device) {
  pthread_mutex_lock(&linnet_cuda_device(device)->mutex);
}
void linnet_cuda_unlock(struct linnet_device *device) {
  pthread_mutex_unlock(&linnet_cuda_device(device)->mutex);
}
void linnet_cuda_out_of_memory(struct linnet_device *) {
  std::abort();
}
void *linnet_cuda_alloc_host(struct linnet_device *, size_t bytes) {
  return std::aligned_alloc(256, (bytes + 256) / 256 * 256);
}
/* cudaFreeHost waits, too. */
void linnet_cuda_free_host(struct linnet_device *device, void *memory) {
  (void)linnet_cuda_wait(device, nullptr);
  std::free(memory);
}
void *linnet_cuda_stream(const struct linnet_device *) {
  return nullptr;
}
void linnet_cuda_forgive(struct linnet_device *) {}
bool linnet_cuda_idle(struct linnet_device *) {
  return !hanging;
}
void *linnet_cuda_scratch(struct linnet_device *device, size_t bytes) {
  if (bytes > LINNET_CUDA_SCRATCH)
    emulate::fail("more scratch than there is");
  std::vector<unsigned char> &scratch = reinterpret_cast<emulated_device *>(device)->scratch;
  scratch.assign(bytes + 16, 0xa5);
  return scratch.data();
}
/* The size is before the block. */
void *linnet_cuda_alloc(struct linnet_device *, size_t bytes) {
  if (bytes > limit - in_use || bytes > SIZE_MAX / 2)
    return nullptr;
  unsigned char *block = static_cast<unsigned char *>(std::aligned_alloc(256, (bytes + 512) / 256 * 256));
  std::memcpy(block, &bytes, sizeof bytes);
  in_use += bytes;
  if (in_use > peak)
    peak = in_use.load();
  const std::lock_guard<std::mutex> lock(of_blocks);
  blocks[block + 256] = bytes;
  return block + 256;
}
void linnet_cuda_free(struct linnet_device *, void *memory) {
  if (!memory)
    return;
  size_t bytes;
  unsigned char *block = static_cast<unsigned char *>(memory) - 256;
  std::memcpy(&bytes, block, sizeof bytes);
  in_use -= bytes;
  const std::lock_guard<std::mutex> lock(of_blocks);
  blocks.erase(block + 256);
  std::free(block);
}
bool test_cuda_owns(const void *memory, size_t bytes) {
  const unsigned char *begin = static_cast<const unsigned char *>(memory);
  const std::lock_guard<std::mutex> lock(of_blocks);
  const auto after = blocks.upper_bound(begin);
  return after != blocks.begin() && begin + bytes <= std::prev(after)->first + std::prev(after)->second;
}
void test_cuda_hang(bool hang) {
  hanging = hang;
}
void test_cuda_alike(bool same) {
  alike = same;
}
size_t linnet_cuda_free_bytes(struct linnet_device *) {
  return limit - in_use;
}
size_t linnet_cuda_peak_bytes(struct linnet_device *) {
  return peak;
}
void test_cuda_limit(size_t bytes) {
  limit = bytes;
}
size_t test_cuda_stretch(void) {
  return 1;
}
void test_cuda_cudnn(bool sought) {
  with_cudnn = sought;
}
void linnet_cuda_upload(struct linnet_device *device, void *to, const void *host, size_t bytes) {
  const unsigned char *contents = static_cast<const unsigned char *>(host);
  std::memcpy(to, host, bytes);
  reinterpret_cast<emulated_device *>(device)->uploads.push_back({contents, {contents, contents + bytes}});
}
void linnet_cuda_download(struct linnet_device *device, void *host, const void *from, size_t bytes) {
  finish_uploads(device, host, bytes); /* they were queued before */
  std::memcpy(host, from, bytes);
}
void linnet_cuda_zero(struct linnet_device *, void *device, size_t bytes) {
  std::memset(device, 0, bytes);
}
void linnet_cuda_copy(struct linnet_device *, void *to, const void *from, size_t bytes) {
  std::memcpy(to, from, bytes);
}
enum linnet_status linnet_cuda_wait(struct linnet_device *device, struct linnet_context *) {
  finish_uploads(device, nullptr, 0);
  return LINNET_OK;
}
void linnet_cuda_gemm(struct linnet_device *device, const struct linnet_gemm *g) {
  linnet_cuda_gemm_kernel(device, g);
}
}
