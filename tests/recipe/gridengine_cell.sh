# Starts GridEngine with the real master and daemons, on separate ports. Scripts source this file after cluster.sh and call
# start_cell. If the system permits namespaces, the script runs in its own and the cell has the hosts node1 and node2, else
# localhost alone. The settings are files of "key value" lines: the installed ones with some changes.
# shellcheck shell=bash
programs=/usr/lib/gridengine shared=/usr/share/gridengine
private=(unshare --mount --net --uts --pid --fork --kill-child)

# settings FILE KEY=VALUE...: prints FILE with other values
settings() {
  awk 'BEGIN {for (i = 2; i < ARGC; i++) {split(ARGV[i], f, "="); value[f[1]] = f[2]} ARGC = 2}
    /^#/ {next}
    $1 in value {$0 = $1 " " value[$1]}
    {print}' "$@"
}

# enter_namespaces SCRIPT ARGUMENT...: starts the script again in its own namespaces, or returns.
enter_namespaces() {
  [[ -z ${LINNET_TEST_HOSTS-} ]] || return 0
  command -v ip nsenter > /dev/null && "${private[@]}" ip link add name one type veth peer name two 2> /dev/null || return 0
  cd /
  # shellcheck disable=SC2154 # of command.sh
  rm -r "$work"
  LINNET_TEST_HOSTS='node1 node2' exec "${private[@]}" bash "$@"
}

# second COMMAND...: runs a command on the second host
second() { nsenter --target "$second_host" --net --uts "$@"; }

start_network() {
  printf '%s\n' '127.0.0.1 localhost' '10.0.0.1 node1' '10.0.0.2 node2' > hosts
  mount --bind hosts /etc/hosts
  mount -t proc proc /proc
  hostname node1
  daemon unshare --net --uts bash -c 'hostname node2 && touch second && exec sleep infinity'
  # shellcheck disable=SC2154 # of cluster.sh
  second_host=${daemons[0]}
  wait_for 60 test -e second
  ip link add name one type veth peer name two netns "$second_host"
  ip address add 10.0.0.1/24 dev one
  second ip address add 10.0.0.2/24 dev two
  ip link set lo up
  ip link set one up
  second ip link set lo up
  second ip link set two up
}

# The files that the master needs to start
make_cell() {
  local arch
  arch=$("$shared/util/arch")
  mkdir -p sge/cell/common sge/spool sge/qmaster/job_scripts sge/execd sge/bin sge/utilbin
  ln -s "$shared/util" sge/util
  ln -s "$programs" "sge/bin/$arch"
  ln -s "$programs" "sge/utilbin/$arch"
  settings "$shared/default-bootstrap" admin_user=none "spooling_params=$PWD/sge/spool" "binary_path=$programs" \
    "qmaster_spool_dir=$PWD/sge/qmaster" > sge/cell/common/bootstrap
  settings "$shared/default-configuration" "execd_spool_dir=$PWD/sge/execd" min_uid=0 min_gid=0 \
    login_shells=none load_report_time=00:00:01 > sge/configuration
  echo "${hosts[0]}" > sge/cell/common/act_qmaster
  [[ ${hosts[0]} != localhost ]] || echo "localhost $(hostname)" > sge/cell/common/host_aliases
  "$programs/spoolinit" berkeleydb libspoolb "$PWD/sge/spool" init || skip 'spoolinit failed'
  "$programs/spooldefaults" configuration sge/configuration
  "$programs/spooldefaults" complexes "$shared/util/resources/centry"
  "$programs/spooldefaults" usersets "$shared/util/resources/usersets"
  "$programs/spooldefaults" managers root
}

# The queue all.q, with the shell and the start mode that GridEngine gives to a new one, the parallel environments mpi and
# smp, and the resource gpu
make_queue() {
  qconf -ssconf > sge/scheduler
  settings sge/scheduler schedule_interval=0:0:1 flush_submit_sec=1 flush_finish_sec=1 > sge/scheduler.fast
  qconf -Msconf sge/scheduler.fast
  cat > sge/mpi << 'END'
pe_name            mpi
slots              99
user_lists         NONE
xuser_lists        NONE
start_proc_args    NONE
stop_proc_args     NONE
allocation_rule    $round_robin
control_slaves     TRUE
job_is_first_task  FALSE
urgency_slots      min
accounting_summary FALSE
qsort_args         NONE
END
  qconf -Ap sge/mpi
  settings sge/mpi pe_name=smp 'allocation_rule=$pe_slots' control_slaves=FALSE > sge/smp
  qconf -Ap sge/smp
  qconf -sc > sge/complexes
  echo 'gpu gpu INT <= YES YES 0 0' >> sge/complexes
  qconf -Mc sge/complexes
  qconf -sq > sge/queue
  settings sge/queue qname=all.q "hostlist=${hosts[*]}" slots=20 load_thresholds=NONE "pe_list=mpi smp" > sge/queue.test
  qconf -Aq sge/queue.test
  qconf -mattr queue complex_values gpu=4 all.q
}

# Hosts that are ready have five columns, without letters of an error in a sixth.
ready() { [[ $(qstat -f | awk '/^all.q@/ && NF == 5' | wc -l) -eq ${#hosts[@]} ]]; }

start_cell() {
  local program host
  # shellcheck disable=SC2034 # for cluster.sh
  stop_signal=KILL # after SIGTERM the daemons take seconds to save what is removed
  PATH=$programs:$PATH # without Debian's wrappers, which start forty processes for each command
  for program in sge_qmaster sge_execd spoolinit spooldefaults; do
    [[ -x $programs/$program ]] || skip "$programs/$program is not installed"
  done
  read -r -a hosts <<< "${LINNET_TEST_HOSTS:-localhost}"
  [[ ${#hosts[@]} -eq 1 ]] || start_network
  export SGE_ROOT=$PWD/sge SGE_CELL=cell SGE_QMASTER_PORT=$((20000 + $$ % 20000)) SGE_EXECD_PORT=$((20001 + $$ % 20000))
  export SGE_ND=true # daemons stay in the foreground
  make_cell
  daemon "$programs/sge_qmaster"
  wait_for 60 qconf -sconf || skip "sge_qmaster did not start: $(tail -qn 1 sge_qmaster.out sge/qmaster/messages | tr '\n' ' ')"
  for host in "${hosts[@]}"; do
    qconf -ah "$host"
    qconf -as "$host"
  done
  daemon "$programs/sge_execd"
  [[ ${#hosts[@]} -eq 1 ]] || daemon second "$programs/sge_execd"
  make_queue
  wait_for 60 ready || skip "sge_execd did not start: $(tail -qn 1 sge_execd.out | tr '\n' ' ')"
}
