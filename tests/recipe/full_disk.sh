# A disk that is full, without privileges: the size of files is limited. Scripts source this file after command.sh.
# shellcheck shell=bash disable=SC2154 # the script that sources this sets linnet
# limited KIB COMMAND...: no file of the command becomes larger. MPI libraries share memory by large files, so ranks use
# the network instead.
cat > limited << 'END'
#!/bin/bash
trap '' XFSZ
ulimit -f "$1"
export OMPI_MCA_btl=self,tcp MPIR_CVAR_NOLOCAL=1
exec "${@:2}"
END
chmod +x limited

# check_full_log FILE START...: a training of one epoch continues on a disk on which FILE, a log, cannot grow. It fails, the
# second time without a new checkpoint. When there is space, it ends with what the folder "whole" has. START: what starts
# ranks, if anything; the array "training" has the rest.
check_full_log() {
  local file=$1 exp=full-$1 attempt status text before=''
  shift
  "${training[@]}" --batches --exp "$exp" --set epochs=1 > "$exp.log" 2>&1 || fail "$exp: $(cat "$exp.log")"
  { printf '%*s' $((200 * 1024 - 20 - $(stat -c %s "$exp/$file"))) '' && cat "$exp/$file"; } > filled
  mv filled "$exp/$file"
  for attempt in 1 2; do
    status=0
    before=$(stat -c '%i %y' "$exp/checkpoint.safetensors")
    "$@" ./limited 200 "${training[@]}" --batches --exp "$exp" > "$exp.log" 2>&1 || status=$?
    [[ $status -eq 1 ]] || fail "$exp: status $status with a full disk: $(cat "$exp.log")"
    [[ $(grep -c "$file: cannot append: File too large" "$exp.log") -eq 1 ]] || fail "$exp: no message, or two: $(cat "$exp.log")"
    ! grep -q 'interrupted' "$exp.log" || fail "$exp: a full disk is no interruption: $(cat "$exp.log")"
  done
  [[ $(stat -c '%i %y' "$exp/checkpoint.safetensors") == "$before" ]] || fail "$exp: a checkpoint although attempt $attempt failed"
  "$@" "${training[@]}" --batches --exp "$exp" > "$exp.log" 2>&1 || fail "$exp: $(cat "$exp.log")"
  cmp whole/model.safetensors "$exp/model.safetensors" || fail "$exp: another model"
  for text in whole "$exp"; do
    grep -o '"epoch": [0-9]*' "$text/log.jsonl" > "$text.epochs"
    sed 's/^ *//' "$text/batches.txt" > "$text.batches"
  done
  cmp whole.epochs "$exp.epochs" || fail "$exp: log.jsonl lacks an epoch"
  cmp whole.batches "$exp.batches" || fail "$exp: batches.txt lacks a step"
}
