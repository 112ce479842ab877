#!/usr/bin/env bash
# Training on emulated GPUs by processes over MPI: the bytes of one process.
#
#   mpi_ranks.sh PROGRAM MODULE
#
# PROGRAM is cuda_mpi_rank, MODULE the MPI module of `linnet train`.
set -euo pipefail
export LC_ALL=C
if [[ $# -ne 2 ]]; then
  awk 'NR > 1 && !/^#/ {exit} NR > 1 {sub(/^# ?/, ""); print}' "$0"
  exit 2
fi
command -v mpirun > /dev/null || { echo 'SKIPPED: mpirun is not installed (openmpi-bin)' && exit 77; }
launcher=(mpirun)
[[ $(mpirun --version) == *'Open MPI'* ]] && launcher+=(--oversubscribe --allow-run-as-root --bind-to none)
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers forbid the others
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for n in 1 2; do
  mkdir "$work/by$n"
  "${launcher[@]}" -n $n "$1" "$2" "$work/by$n"
done
cmp "$work"/by{1,2}/model.safetensors
