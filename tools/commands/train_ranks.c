/* The ranks of `linnet train`: what launcher started them, and the MPI module that connects them. */
#define _GNU_SOURCE /* CPU_COUNT */
#include "train_parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the launcher ------------------------------------------------------------------------------------------------- */

static const struct launcher {
  const char *size, *rank; /* environment variables */
  const char *name;
} launchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun"},
                 {"PMI_SIZE", "PMI_RANK", "mpiexec"},
                 {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"}};

static long number_of(const char *variable) {
  const char *value = getenv(variable);
  return value ? strtol(value, NULL, 10) : 0;
}

/* The launcher that started several ranks, or NULL. */
static const struct launcher *find_launcher(void) {
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
    if (number_of(launchers[i].size) > 1)
      return &launchers[i];
  return NULL;
}

bool train_ranks_repeat(void) {
  const char *command = getenv("OMPI_COMMAND"), *slash = command ? strrchr(command, '/') : NULL;
  return command && number_of("OMPI_COMM_WORLD_RANK") > 0 && number_of("OMPI_NUM_APP_CTX") == 1 &&
         strcmp(slash ? slash + 1 : command, program_invocation_short_name) == 0;
}

/* --- the module --------------------------------------------------------------------------------------------------- */

/* The module lies beside the library: relative to the program, so that an installation can be moved. */
static void *load_module(void) {
  char program[4096], path[4096 + sizeof LINNET_MODULE_PATH];
  ssize_t bytes = readlink("/proc/self/exe", program, sizeof program);
  while (bytes > 0 && program[bytes - 1] != '/')
    bytes--;
  if (bytes <= 0)
    return NULL;
  snprintf(path, sizeof path, "%.*s" LINNET_MODULE_PATH "/linnet-mpi.so", (int)bytes, program);
  if (access(path, R_OK) != 0) {
    tool_fail("this build has no MPI (%s is missing): build with LINNET_MPI=ON, or start one process, or each alone "
              "with --mpi off",
              path);
    return NULL;
  }
  void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* components of Open MPI need its symbols */
  if (!module)
    tool_fail("the MPI library cannot be loaded: %s", dlerror());
  return module;
}

static bool find_functions(void *module, mpi_group_open_fn **open, mpi_group_close_fn **close) {
  void *symbols[] = {dlsym(module, MPI_GROUP_OPEN), dlsym(module, MPI_GROUP_CLOSE)};
  memcpy(open, &symbols[0], sizeof symbols[0]);
  memcpy(close, &symbols[1], sizeof symbols[1]);
  return symbols[0] && symbols[1];
}

static bool begin_mpi(struct train_ranks *ranks, double timeout) {
  mpi_group_open_fn *begin = NULL;
  void *module = load_module();
  if (!module)
    return false;
  if (find_functions(module, &begin, &ranks->close) && begin(&ranks->mpi, timeout) == 0)
    return true;
  tool_fail("MPI cannot be started");
  ranks->close = NULL;
  return false;
}

/* --- ranks -------------------------------------------------------------------------------------------------------- */

/* Processors for the threads of this rank: those that the launcher binds it to, and no more than its share. */
static int own_processors(const struct train_ranks *ranks) {
  cpu_set_t set;
  long online = sysconf(_SC_NPROCESSORS_ONLN), share = online / (long)ranks->mpi.num_local;
  int bound = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return share < 1 ? 1 : bound < share ? bound : (int)share;
}

/* Until ranks agree, each prints its own errors. */
static void name_rank(const struct train_ranks *ranks) {
  char host[256] = "", name[300];
  gethostname(host, sizeof host - 1);
  snprintf(name, sizeof name, "rank %zu on %s", ranks->mpi.group.rank, host);
  tool_speak_as(ranks->mpi.group.num_ranks > 1 ? name : NULL);
}

int train_ranks_open(const char *mode, double timeout, struct train_ranks *ranks) {
  const struct launcher *launcher = find_launcher();
  *ranks = (struct train_ranks){.mpi.group.num_ranks = 1};
  if (mode && strcmp(mode, "auto") != 0 && strcmp(mode, "on") != 0 && strcmp(mode, "off") != 0)
    return tool_usage("--mpi %s: must be auto, on or off", mode);
  if (!(timeout >= 0))
    return tool_usage("--rank-timeout %g: must be 0 or more", timeout);
  const bool on = mode && strcmp(mode, "on") == 0, off = mode && strcmp(mode, "off") == 0;
  if (off || (!on && !launcher))
    return TOOL_OK;
  if (!begin_mpi(ranks, timeout))
    return TOOL_FAILURE;
  if (launcher && ranks->mpi.group.num_ranks == 1)
    return tool_fail("%s started %ld processes, but %s sees one: use the launcher of that library, or --mpi off",
                     launcher->name, number_of(launcher->size), ranks->mpi.library);
  tool_hide_usage(false);
  name_rank(ranks);
  tool_share_processors(own_processors(ranks));
  tool_share_devices(ranks->mpi.local_rank);
  tool_be_quiet(ranks->mpi.group.rank > 0);
  return TOOL_OK;
}

const struct linnet_group *train_ranks_group(const struct train_ranks *ranks) {
  return ranks->close ? &ranks->mpi.group : NULL;
}

bool train_ranks_first(const struct train_ranks *ranks) {
  return ranks->mpi.group.rank == 0;
}

/* Gathers one number of each rank. NULL if that failed. */
static uint64_t *gather_numbers(const struct linnet_group *g, uint64_t own) {
  uint64_t *all = calloc(g->num_ranks, sizeof *all);
  size_t *offsets = calloc(g->num_ranks + 1, sizeof *offsets);
  for (size_t r = 0; offsets && r <= g->num_ranks; r++)
    offsets[r] = r * sizeof *all;
  if (all)
    all[g->rank] = own;
  if (!all || !offsets || g->gather(g->user, all, offsets) != 0) {
    free(all);
    all = NULL;
  }
  free(offsets);
  return all;
}

/* Whether all ranks are good, and are about to gather as many bytes. */
static bool agree(struct train_ranks *ranks, bool good, size_t bytes) {
  const struct linnet_group *g = &ranks->mpi.group;
  const uint64_t own = good ? (uint64_t)bytes + 1 : 0;
  size_t r = 0;
  if (g->num_ranks == 1 || ranks->failed)
    return good && !ranks->failed;
  uint64_t *all = gather_numbers(g, own);
  while (all && r < g->num_ranks && all[r] > 0 && all[r] == all[0])
    r++;
  ranks->failed = r < g->num_ranks;
  if (ranks->failed)
    tool_speak_as(NULL); /* the next messages are about all ranks */
  if (!all)
    tool_fail("rank %zu of %zu: the other ranks did not answer: one of them ended or hangs; start all again", g->rank,
              g->num_ranks);
  else if (ranks->failed && good && g->rank == 0)
    tool_fail(all[r] == 0 ? "rank %zu failed; see its message"
                          : "rank %zu: differs from rank 0: training data, or settings of features",
              r);
  free(all);
  return !ranks->failed;
}

bool train_ranks_agree(struct train_ranks *ranks, bool good) {
  return agree(ranks, good, 0);
}

/* Rank r has the bytes offsets[r] ... offsets[r+1] - 1. */
static bool gather(struct train_ranks *ranks, bool good, void *data, const size_t *offsets) {
  const struct linnet_group *g = &ranks->mpi.group;
  if (!agree(ranks, good && offsets, offsets ? offsets[g->num_ranks] : 0))
    return false;
  ranks->failed = g->num_ranks > 1 && g->gather(g->user, data, offsets) != 0;
  if (ranks->failed)
    tool_fail("ranks cannot exchange what they found in the training data");
  return !ranks->failed;
}

bool train_ranks_share_first(struct train_ranks *ranks, bool good, void *data, size_t bytes) {
  size_t *offsets = calloc(ranks->mpi.group.num_ranks + 1, sizeof *offsets);
  for (size_t r = 1; offsets && r <= ranks->mpi.group.num_ranks; r++)
    offsets[r] = bytes;
  const bool shared = gather(ranks, good, data, offsets);
  free(offsets);
  return shared;
}

static size_t begin_of(const struct train_ranks *ranks, size_t rank, size_t count) {
  const size_t n = ranks->mpi.group.num_ranks;
  return count / n * rank + count % n * rank / n;
}

bool train_ranks_share_parts(struct train_ranks *ranks, bool good, void *data, size_t count, size_t bytes) {
  size_t *offsets = calloc(ranks->mpi.group.num_ranks + 1, sizeof *offsets);
  for (size_t r = 1; offsets && r <= ranks->mpi.group.num_ranks; r++)
    offsets[r] = bytes * begin_of(ranks, r, count);
  const bool shared = gather(ranks, good, data, offsets);
  free(offsets);
  return shared;
}

void train_ranks_part(const struct train_ranks *ranks, size_t count, size_t *begin, size_t *end) {
  *begin = begin_of(ranks, ranks->mpi.group.rank, count);
  *end = begin_of(ranks, ranks->mpi.group.rank + 1, count);
}

void train_ranks_close(const struct train_ranks *ranks, int code) {
  if (ranks->close)
    ranks->close(code);
}
