/* One rank of an MPI job that trains a small network on an emulated device: cuda_mpi_rank MODULE FOLDER. MODULE is the
 * MPI module of `linnet train`. mpi_ranks.sh starts it. */
#include "backend/cuda/memory.h"
#include "small_training.h"
#include "tools/mpi/mpi_group.h"

#include <dlfcn.h>

static void *find(void *module, const char *name) {
  void *symbol = dlsym(module, name);
  REQUIRE(symbol, "%s", dlerror());
  return symbol;
}

int main(int argc, char **argv) {
  REQUIRE(argc == 3, "arguments: MODULE FOLDER");
  void *module = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  REQUIRE(module, "%s", dlerror());
  void *symbols_of_module[] = {find(module, MPI_GROUP_OPEN), find(module, MPI_GROUP_CLOSE)};
  mpi_group_open_fn *open_group;
  mpi_group_close_fn *close_group;
  memcpy(&open_group, &symbols_of_module[0], sizeof open_group);
  memcpy(&close_group, &symbols_of_module[1], sizeof close_group);
  struct mpi_group mpi;
  REQUIRE(open_group(&mpi, 0) == 0, "MPI");
  CHECK(mpi.local_rank == mpi.group.rank && mpi.num_local == mpi.group.num_ranks, "ranks of one machine");
  struct run run = make_run(transformer, 1, 1);
  run.on_device = linnet_cuda_open;
  run.num_shards = 4;
  run.group = &mpi.group;
  train(&run, mpi.group.rank == 0 ? argv[2] : "/nonexistent");
  CHECK(mpi.group.num_ranks == 1 || strstr(run.exchange, "through host memory: "), "%s", run.exchange);
  CHECK(run.status == LINNET_OK, "rank %zu: %s", mpi.group.rank, run.error);
  close_group(run.status == LINNET_OK ? 0 : 1);
  return test_result();
}
