/* The emulated device with a thread of the system for each thread of a block, and two blocks at a time without order
 * between them: if a result depends on the order, the thread sanitizer sees a race. Only __syncthreads and
 * __syncwarp give order: shuffles wait for the warp, but promise nothing about memory, and neither do atomics. Linux
 * only. */
#include "emulate.h"

#include <atomic>
#include <climits>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {
#include "test_device.h"
}

namespace emulate {
namespace {
enum { SLOTS = 2, STACK_BYTES = 256 * 1024 };

/* --- waiting: by system calls, in which the sanitizer sees no order ----------------------------------------------- */

using word = std::atomic<std::uint32_t>;
static_assert(sizeof(word) == sizeof(std::uint32_t), "as futex(2) has it");

void sleep_while(word &w, std::uint32_t value) {
  syscall(SYS_futex, &w, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake(word &w, int count) {
  syscall(SYS_futex, &w, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

/* A barrier for a number of threads. ORDERED: all threads see after it what each of them wrote before it. */
class meeting {
  word arrived{0}, round{0}; /* arrived: in all rounds */
  word leaving{0};

public:
  void begin() { arrived = round = leaving = 0; }

  template <bool ORDERED> void wait(unsigned threads, bool leaves = false) {
    const std::uint32_t now = round.load(std::memory_order_relaxed);
    if (leaves)
      leaving.fetch_add(1, std::memory_order_relaxed);
    if (arrived.fetch_add(1, ORDERED ? std::memory_order_acq_rel : std::memory_order_relaxed) + 1 !=
        (now + 1) * threads) {
      while (round.load(ORDERED ? std::memory_order_acquire : std::memory_order_relaxed) == now)
        sleep_while(round, now);
      return;
    }
    if (leaving != 0 && leaving != threads)
      fail("threads wait at a barrier that others have left");
    leaving.store(0, std::memory_order_relaxed);
    round.store(now + 1, ORDERED ? std::memory_order_release : std::memory_order_relaxed);
    wake(round, INT_MAX);
  }
};

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* The words that a lane writes in an exchange, with the number of the exchange. Two slots are used in turn, because
 * a lane is at most one exchange ahead. */
struct lane {
  std::atomic<std::uint64_t> given[2][MAX_WORDS];
};

/* Where one block after the other runs. */
struct slot {
  alignas(16) unsigned char shared[MAX_SHARED];
  meeting block, warp[MAX_THREADS / 32];
  lane lanes[MAX_THREADS];
};

struct job {
  dim3 grid, block;
  std::size_t shared_bytes;
  const std::function<void()> *kernel;
  std::size_t mixing; /* decides on the slots of blocks */
};

slot slots[SLOTS];
job now;
__thread slot *own;
__thread std::uint32_t exchanges;

/* The parity of the bits of i that are chosen by an odd number: neighbours are in different slots, and all others in
 * half of the launches. */
unsigned slot_of(const job &j, std::size_t i) {
  return __builtin_parityll(i & j.mixing);
}

void run_block(const job &j, std::size_t i) {
  if (thread_index.x == 0)
    std::memset(own->shared, 0xa5, j.shared_bytes);
  block_index = block_at(j.grid, i);
  own->block.wait<true>(j.block.x);
  (*j.kernel)();
  own->block.wait<true>(j.block.x, true);
}

void run_blocks(const job &j, unsigned slot) {
  const std::size_t blocks = (std::size_t)j.grid.x * j.grid.y * j.grid.z;
  own = &slots[slot];
  grid_size = j.grid, block_size = j.block;
  exchanges = 0;
  for (std::size_t i = 0; i < blocks; i++)
    if (slot_of(j, i) == slot)
      run_block(j, i);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

/* A thread of every block in its slot; it lives as long as the program. */
struct worker {
  unsigned slot, index;
  bool started;
  word jobs; /* that it was given */
};

worker workers[SLOTS][MAX_THREADS];
word busy; /* workers */

void *work(void *argument) {
  worker &w = *static_cast<worker *>(argument);
  thread_index = dim3(w.index, 0, 0);
  for (std::uint32_t done = 0;; done++) {
    while (w.jobs.load(std::memory_order_acquire) == done)
      sleep_while(w.jobs, done);
    run_blocks(now, w.slot);
    if (busy.fetch_sub(1, std::memory_order_acq_rel) == 1)
      wake(busy, 1);
  }
  return nullptr;
}

void start(worker &w, unsigned slot, unsigned index) {
  pthread_t thread;
  pthread_attr_t attributes;
  w.slot = slot, w.index = index, w.started = true;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (pthread_create(&thread, &attributes, work, &w) != 0)
    fail("the system has no more threads");
  pthread_attr_destroy(&attributes);
}

void give_work(worker &w, unsigned slot, unsigned index) {
  if (!w.started)
    start(w, slot, index);
  w.jobs.fetch_add(1, std::memory_order_release);
  wake(w.jobs, 1);
}

void prepare(slot &s) {
  s.block.begin();
  for (meeting &m : s.warp)
    m.begin();
  for (lane &l : s.lanes)
    for (auto &words : l.given)
      for (auto &word : words)
        word = 0;
}
} // namespace

void run(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()> &body) {
  static std::size_t launches;
  now = job{grid, block, shared_bytes, &body, launches++ * 0x9e3779b97f4a7c15 | 1};
  busy = SLOTS * block.x;
  for (slot &s : slots)
    prepare(s);
  for (unsigned slot = 0; slot < SLOTS; slot++)
    for (unsigned i = 0; i < block.x; i++)
      give_work(workers[slot][i], slot, i);
  for (std::uint32_t left; (left = busy.load(std::memory_order_acquire)) != 0;)
    sleep_while(busy, left);
}

void *shared_memory() {
  return own->shared;
}

void wait_block() {
  own->block.wait<true>(block_size.x);
}

void wait_warp() {
  own->warp[thread_index.x / 32].wait<true>(32);
}

void give(const std::uint32_t *words, unsigned count) {
  const std::uint64_t number = ++exchanges;
  for (unsigned i = 0; i < count; i++)
    own->lanes[thread_index.x].given[number % 2][i].store(number << 32 | words[i], std::memory_order_relaxed);
  own->warp[thread_index.x / 32].wait<false>(32);
}

void take(unsigned from, std::uint32_t *words, unsigned count) {
  const lane &giver = own->lanes[thread_index.x / 32 * 32 + from];
  for (unsigned i = 0; i < count; i++) {
    std::uint64_t value;
    do
      value = giver.given[exchanges % 2][i].load(std::memory_order_relaxed);
    while (value >> 32 != exchanges);
    words[i] = (std::uint32_t)value;
  }
}

std::uint32_t atomic_add(std::uint32_t *sum, std::uint32_t value) {
  return __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}
} // namespace emulate

void test_cuda_reverse(bool) {}

size_t test_cuda_share() {
  return 4;
}
