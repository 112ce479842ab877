/* The emulated device: threads as fibers, and the device of lib/backend/cuda/memory.h on host memory. */
#include "cuda/emulate.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <ucontext.h>
#include <vector>

extern "C" {
#include "backend/cuda/cuda_device.h"
}

namespace emulate {
dim3 thread_index, block_index, block_size, grid_size;

namespace {
enum { STACK_BYTES = 128 * 1024, MOST_THREADS = 1024, MOST_SHARED = 227 * 1024 };
enum wait { RUNNING, AT_WARP, AT_BLOCK, DONE };

struct fiber {
  ucontext_t start;
  jmp_buf place;
  bool started;
  enum wait wait;
  unsigned exchanges; /* counted: two slots are used in turn, as a lane is one exchange ahead at most */
  std::uint32_t slot[2];
  std::vector<char> stack;
};

fiber fibers[MOST_THREADS];
fiber *current;
jmp_buf scheduler;
const std::function<void()> *body;
alignas(16) unsigned char shared[MOST_SHARED];
bool reversed;

[[noreturn]] void fail(const char *what) {
  std::fprintf(stderr, "emulated device: %s in block %u %u %u\n", what, block_index.x, block_index.y, block_index.z);
  std::abort();
}

void leave(enum wait wait) {
  current->wait = wait;
  if (!_setjmp(current->place))
    _longjmp(scheduler, 1);
}

/* A fiber runs one thread of block after block. */
void run_threads() {
  for (;;) {
    (*body)();
    leave(DONE);
  }
}

void resume(unsigned i) {
  current = &fibers[i];
  current->wait = RUNNING;
  thread_index = dim3(i);
  if (_setjmp(scheduler))
    return;
  if (current->started)
    _longjmp(current->place, 1);
  current->started = true;
  current->stack.resize(STACK_BYTES);
  getcontext(&current->start);
  current->start.uc_stack.ss_sp = current->stack.data();
  current->start.uc_stack.ss_size = STACK_BYTES;
  current->start.uc_link = nullptr;
  makecontext(&current->start, run_threads, 0);
  setcontext(&current->start);
}

/* Runs the lanes of a warp until all wait for the block or are done. */
void run_warp(unsigned first) {
  for (bool again = true; again;) {
    unsigned at_warp = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
      unsigned i = first + (reversed ? 31 - lane : lane);
      if (fibers[i].wait == AT_WARP || fibers[i].wait == RUNNING)
        resume(i);
    }
    for (unsigned lane = 0; lane < 32; lane++)
      at_warp += fibers[first + lane].wait == AT_WARP;
    if (at_warp != 0 && at_warp != 32)
      fail("lanes of a warp wait for others that do not come");
    again = at_warp > 0;
  }
}

void run_block(unsigned threads, std::size_t shared_bytes) {
  std::memset(shared, 0xa5, shared_bytes);
  for (unsigned i = 0; i < threads; i++)
    fibers[i].wait = RUNNING, fibers[i].exchanges = 0;
  for (bool again = true; again;) {
    unsigned at_block = 0;
    for (unsigned warp = 0; warp < threads / 32; warp++)
      run_warp(32 * (reversed ? threads / 32 - 1 - warp : warp));
    for (unsigned i = 0; i < threads; i++)
      at_block += fibers[i].wait == AT_BLOCK;
    if (at_block != 0 && at_block != threads)
      fail("threads wait at a barrier that others have left");
    for (unsigned i = 0; at_block > 0 && i < threads; i++)
      fibers[i].wait = RUNNING;
    again = at_block > 0;
  }
}
} // namespace

void launch(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()> &function) {
  block_size = block, grid_size = grid;
  body = &function;
  if (block.x % 32 != 0 || block.x > MOST_THREADS || block.y != 1 || block.z != 1 || shared_bytes > MOST_SHARED)
    fail("a launch with a shape that is not emulated");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > 65535 || grid.z > 65535)
    fail("a launch that a device would refuse");
  const std::size_t blocks = (std::size_t)grid.x * grid.y * grid.z;
  for (std::size_t i = 0; i < blocks; i++) {
    const std::size_t at = reversed ? blocks - 1 - i : i;
    block_index = dim3((unsigned)(at % grid.x), (unsigned)(at / grid.x % grid.y), (unsigned)(at / grid.x / grid.y));
    run_block(block.x, shared_bytes);
  }
}

void *shared_memory() {
  return shared;
}

void wait_block() {
  leave(AT_BLOCK);
}

void wait_warp() {
  leave(AT_WARP);
}

std::uint32_t exchange(std::uint32_t bits, unsigned from) {
  unsigned slot = current->exchanges++ % 2, first = thread_index.x / 32 * 32;
  current->slot[slot] = bits;
  leave(AT_WARP);
  return fibers[first + from].slot[slot];
}

void set_reversed(bool value) {
  reversed = value;
}
} // namespace emulate

struct emulated_device {
  struct linnet_cuda_device cuda;
  std::vector<unsigned char> scratch;
};

/* Memory of all emulated devices, in bytes. */
namespace {
size_t limit = SIZE_MAX, in_use, most_in_use;
}

extern "C" {
enum linnet_status linnet_cuda_open(struct linnet_context *context, int, enum linnet_precision,
                                    struct linnet_device **device) {
  emulated_device *emulated = new emulated_device();
  emulated->cuda.base.ops = &linnet_cuda_device_ops;
  emulated->cuda.base.name = "cuda, emulated";
  emulated->cuda.context = context;
  pthread_mutex_init(&emulated->cuda.mutex, nullptr);
  *device = &emulated->cuda.base;
  return LINNET_OK;
}
void linnet_cuda_close(struct linnet_device *device) {
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
void linnet_cuda_free_host(struct linnet_device *, void *memory) {
  std::free(memory);
}
void *linnet_cuda_stream(const struct linnet_device *) {
  return nullptr;
}
void *linnet_cuda_scratch(struct linnet_device *device, size_t bytes) {
  if (bytes > LINNET_CUDA_SCRATCH)
    std::abort();
  std::vector<unsigned char> &scratch = reinterpret_cast<emulated_device *>(device)->scratch;
  scratch.assign(bytes + 16, 0xa5);
  return scratch.data();
}
/* The size stands in front of a block. */
void *linnet_cuda_alloc(struct linnet_device *, size_t bytes) {
  if (bytes > limit - in_use || bytes > SIZE_MAX / 2)
    return nullptr;
  unsigned char *block = static_cast<unsigned char *>(std::aligned_alloc(256, (bytes + 512) / 256 * 256));
  std::memcpy(block, &bytes, sizeof bytes);
  in_use += bytes;
  most_in_use = in_use > most_in_use ? in_use : most_in_use;
  return block + 256;
}
void linnet_cuda_free(struct linnet_device *, void *memory) {
  if (!memory)
    return;
  size_t bytes;
  unsigned char *block = static_cast<unsigned char *>(memory) - 256;
  std::memcpy(&bytes, block, sizeof bytes);
  in_use -= bytes;
  std::free(block);
}
size_t linnet_cuda_free_bytes(struct linnet_device *) {
  return limit - in_use;
}
size_t linnet_cuda_peak_bytes(struct linnet_device *) {
  return most_in_use;
}
void test_cuda_limit(size_t bytes) {
  limit = bytes;
}
void linnet_cuda_upload(struct linnet_device *, void *device, const void *host, size_t bytes) {
  std::memcpy(device, host, bytes);
}
void linnet_cuda_download(struct linnet_device *, void *host, const void *device, size_t bytes) {
  std::memcpy(host, device, bytes);
}
void linnet_cuda_zero(struct linnet_device *, void *device, size_t bytes) {
  std::memset(device, 0, bytes);
}
void linnet_cuda_copy(struct linnet_device *, void *to, const void *from, size_t bytes) {
  std::memcpy(to, from, bytes);
}
enum linnet_status linnet_cuda_wait(struct linnet_device *, struct linnet_context *) {
  return LINNET_OK;
}
void linnet_cuda_gemm(struct linnet_device *device, enum linnet_precision, const struct linnet_gemm *g) {
  linnet_cuda_gemm_kernel(device, g);
}
void test_cuda_reverse(bool reversed) {
  emulate::set_reversed(reversed);
}
}
