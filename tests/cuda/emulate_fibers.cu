/* The emulated device on one thread of the system, which has a stack for each thread of a block: a thread runs until it
 * waits for its warp or its block. The order in which blocks and threads run can be reversed: results that change with
 * it show a missing barrier. */
#include "emulate.h"

#include <cstdlib>
#include <ucontext.h>

extern "C" {
#include "test_device.h"
}

namespace emulate {
namespace {
/* Stacks do not begin a power of two apart: the lines that threads use most would share a few sets of the cache. */
enum { STACK_BYTES = 128 * 1024 + 17 * 64 };
/* The compiler's own setjmp and longjmp: they save three registers, and the address sanitizer does not search the stack
 * for frames to unpoison at each of millions of jumps. */
typedef void *position[5];

__attribute__((noinline, noipa, no_sanitize_address)) void jump(position *to) {
  __builtin_longjmp(*to, 1);
}

enum wait { RUNNING, AT_WARP, AT_BLOCK, DONE };

struct fiber {
  ucontext_t start;
  position at;
  bool started;
  enum wait wait;
  unsigned
      exchanges; /* number of the exchange; two slots are used in turn, because a lane is at most one exchange ahead */
  std::uint32_t slot[2][MAX_WORDS];
};

fiber fibers[MAX_THREADS];
fiber *current;
position scheduler;
const std::function<void()> *kernel;
alignas(16) unsigned char shared[MAX_SHARED];
bool reversed;

void leave(enum wait wait) {
  current->wait = wait;
  if (!__builtin_setjmp(current->at))
    jump(&scheduler);
}

/* A fiber runs one thread of block after block. */
void run_threads() {
  for (;;) {
    (*kernel)();
    leave(DONE);
  }
}

void start() {
  static char *const stacks = static_cast<char *>(std::aligned_alloc(4096, (size_t)STACK_BYTES * MAX_THREADS));
  current->started = true;
  getcontext(&current->start);
  current->start.uc_stack.ss_sp = stacks + (current - fibers) * STACK_BYTES;
  current->start.uc_stack.ss_size = STACK_BYTES;
  current->start.uc_link = nullptr;
  makecontext(&current->start, run_threads, 0);
  setcontext(&current->start);
}

void resume(unsigned i) {
  current = &fibers[i];
  current->wait = RUNNING;
  thread_index = dim3(i, 0, 0);
  if (__builtin_setjmp(scheduler))
    return;
  if (current->started)
    jump(&current->at);
  start();
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

void run(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()> &body) {
  block_size = block, grid_size = grid;
  kernel = &body;
  const std::size_t blocks = (std::size_t)grid.x * grid.y * grid.z;
  for (std::size_t i = 0; i < blocks; i++) {
    block_index = block_at(grid, reversed ? blocks - 1 - i : i);
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

/* Without a call of a function for the usual numbers of words. */
static inline void copy(std::uint32_t *to, const std::uint32_t *from, unsigned count) {
  if (count == MAX_WORDS)
    std::memcpy(to, from, MAX_WORDS * sizeof *to);
  else if (count == 1)
    *to = *from;
  else
    std::memcpy(to, from, count * sizeof *to);
}

void give(const std::uint32_t *words, unsigned count) {
  copy(current->slot[current->exchanges++ % 2], words, count);
  leave(AT_WARP);
}

void take(unsigned from, std::uint32_t *words, unsigned count) {
  const fiber &giver = fibers[thread_index.x / 32 * 32 + from];
  copy(words, giver.slot[(current->exchanges - 1) % 2], count);
}

std::uint32_t atomic_add(std::uint32_t *sum, std::uint32_t value) {
  const std::uint32_t before = *sum;
  *sum += value;
  return before;
}
} // namespace emulate

void test_cuda_reverse(bool reversed) {
  emulate::reversed = reversed;
}

size_t test_cuda_share() {
  return 1;
}
