/* What the module linnet-mpi.so exports. `linnet train` loads it where it was started by mpirun or srun, so that the
 * command itself needs no MPI library. */
#ifndef LINNET_MPI_GROUP_H
#define LINNET_MPI_GROUP_H

#include <linnet/group.h>

struct mpi_group {
  struct linnet_group group;    /* of all processes that the launcher started */
  size_t local_rank, num_local; /* the number of this rank among those on its machine; 0 <= local_rank < num_local */
  char library[80];             /* the MPI library and its version */
};

/* Begins MPI; 0 if that worked. An operation that waits longer than `timeout` seconds for the other ranks fails with
 * ETIMEDOUT; 0: it waits for ever. */
typedef int mpi_group_open_fn(struct mpi_group *group, double timeout);
#define MPI_GROUP_OPEN "linnet_mpi_open"

/* Ends MPI. If an operation of this process has failed, or it ends alone with a `code` other than 0, ends the other
 * processes as well. */
typedef void mpi_group_close_fn(int code);
#define MPI_GROUP_CLOSE "linnet_mpi_close"

#endif
