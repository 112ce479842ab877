# Scripts in the folder bin that take the place of Slurm's programs and note their arguments in the file calls. Scripts
# source this file. The file refuse makes sbatch fail.
# shellcheck shell=bash
mkdir bin
cat > bin/sbatch << 'END'
#!/bin/bash
echo "$@" >> "$FAKE/calls"
[ ! -e "$FAKE/refuse" ] || { echo 'sbatch: error' >&2; exit 1; }
for argument; do
  case "$argument" in
  --array=*) parts=${argument#--array=} ;;
  --cpus-per-task=*) threads=${argument#--cpus-per-task=} ;;
  *.sh) script=$argument ;;
  esac
done
for part in ${parts//,/ }; do
  SLURM_ARRAY_TASK_ID=$part SLURM_JOB_ID=$((100 + part)) SLURM_NTASKS=2 SLURM_CPUS_PER_TASK=${threads:-1} bash "$script"
  while [ -e "$FAKE/requeue" ]; do # as after scontrol requeue
    rm "$FAKE/requeue"
    SLURM_ARRAY_TASK_ID=$part SLURM_JOB_ID=$((100 + part)) SLURM_CPUS_PER_TASK=${threads:-1} SLURM_RESTART_COUNT=1 bash "$script"
  done
done
END
printf '#!/bin/bash\necho "scontrol $*" >> "$FAKE/calls"\ntouch "$FAKE/requeue"\n' > bin/scontrol
printf '#!/bin/bash\n[ -e "$FAKE/queue" ] && rm "$FAKE/queue" && echo job\nexit 0\n' > bin/squeue
printf '#!/bin/bash\necho "srun $*" >> "$FAKE/calls"\nwhile [[ $1 == --* ]]; do shift; done\nexec "$@"\n' > bin/srun
printf '#!/bin/bash\n' > bin/scancel
chmod +x bin/*
export FAKE=$PWD PATH=$PWD/bin:$PATH
