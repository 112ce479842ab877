#!/usr/bin/env bash
# Features of a data folder through GridEngine: starts a cell with the real master and daemon on this machine, on separate
# ports. Exit code 77 (skipped): the programs (Debian packages gridengine-master, gridengine-exec and
# gridengine-client) are not installed or do not start.
#
#   cluster_gridengine.sh LINNET
# shellcheck source=tests/recipe/cluster.sh
. "$(dirname "$0")/cluster.sh"
need qsub qconf qstat sox
programs=/usr/lib/gridengine shared=/usr/share/gridengine
for program in sge_qmaster sge_execd spoolinit spooldefaults; do
  [[ -x $programs/$program ]] || skip "$programs/$program is not installed"
done
export SGE_ROOT=$PWD/sge SGE_CELL=cell SGE_QMASTER_PORT=$((20000 + $$ % 20000)) SGE_EXECD_PORT=$((20001 + $$ % 20000))
export SGE_ND=true # daemons stay in the foreground

# --- a cluster of one machine. Its settings are files of "key value" lines: the installed ones with some changes.

# settings FILE KEY=VALUE...: prints FILE with other values
settings() {
  awk 'BEGIN {for (i = 2; i < ARGC; i++) {split(ARGV[i], f, "="); value[f[1]] = f[2]} ARGC = 2}
    /^#/ {next}
    $1 in value {$0 = $1 " " value[$1]}
    {print}' "$@"
}

mkdir -p sge/cell/common sge/spool sge/qmaster/job_scripts sge/execd
ln -s "$shared/util" sge/util
settings "$shared/default-bootstrap" admin_user=none "spooling_params=$PWD/sge/spool" "binary_path=$programs" \
  "qmaster_spool_dir=$PWD/sge/qmaster" > sge/cell/common/bootstrap
settings "$shared/default-configuration" "execd_spool_dir=$PWD/sge/execd" min_uid=0 min_gid=0 \
  load_report_time=00:00:01 > sge/configuration
echo localhost > sge/cell/common/act_qmaster
echo "localhost $(hostname)" > sge/cell/common/host_aliases
"$programs/spoolinit" berkeleydb libspoolb "$PWD/sge/spool" init || skip 'spoolinit failed'
"$programs/spooldefaults" configuration sge/configuration
"$programs/spooldefaults" complexes "$shared/util/resources/centry"
"$programs/spooldefaults" usersets "$shared/util/resources/usersets"
"$programs/spooldefaults" managers root
daemon "$programs/sge_qmaster"
wait_for 30 qconf -sconf || skip "sge_qmaster did not start: $(tail -qn 1 sge_qmaster.out sge/qmaster/messages | tr '\n' ' ')"
qconf -ssconf > sge/scheduler
settings sge/scheduler schedule_interval=0:0:1 flush_submit_sec=1 flush_finish_sec=1 > sge/scheduler.fast
qconf -Msconf sge/scheduler.fast
qconf -ah localhost
qconf -as localhost
daemon "$programs/sge_execd"
qconf -sq > sge/queue
settings sge/queue qname=test hostlist=localhost qtype=BATCH "slots=$(nproc)" shell=/bin/bash \
  shell_start_mode=unix_behavior load_thresholds=NONE pe_list=NONE > sge/queue.test
qconf -Aq sge/queue.test
ready() { [[ $(qstat -f | awk '$1 == "test@localhost" {print NF}') -eq 5 ]]; } # a fifth column, no sixth with letters of an error
wait_for 30 ready || skip "sge_execd did not start: $(tail -qn 1 sge_execd.out | tr '\n' ' ')"

check_features gridengine '-q test -l h_rt=300' '-q nowhere'

echo "$failures failures"
[[ $failures -eq 0 ]]
