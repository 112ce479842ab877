# The launcher of MPI for tests with several processes on one machine: "${launcher[@]}" -n 4 COMMAND. Scripts source this
# file after command.sh. Exit code 77 (skipped): there is no launcher, or the build has no MPI.
# shellcheck shell=bash disable=SC2154 # command.sh sets linnet
command -v mpirun > /dev/null || { echo 'SKIPPED: mpirun is not installed (openmpi-bin)' && exit 77; }
[[ -e $(dirname "$linnet")/../lib/linnet/linnet-mpi.so || -n $(find "$(dirname "$linnet")/.." -name linnet-mpi.so) ]] ||
  { echo 'SKIPPED: this build has no MPI (LINNET_MPI)' && exit 77; }
launcher=(mpirun)
[[ $(mpirun --version) == *'Open MPI'* ]] && launcher+=(--oversubscribe --allow-run-as-root --bind-to none)
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers forbid the others
