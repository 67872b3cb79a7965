/**
 * The programs that make up a zone, for bash 3.2 and later. Outside stands the guard: it holds the zone's life pipe and
 * kills everything in the zone when that pipe closes, by the service's wish or because the service is gone. Inside, after the
 * walls (where there are namespaces), the runner starts one task after the other.
 */

/** Closes all descriptors above one, whoever left them open. */
const sealFunction = `
seal() {
  for descriptor in /dev/fd/*; do
    descriptor=\${descriptor##*/}
    [ "$descriptor" -le "$1" ] || eval "exec $descriptor>&-"
  done
}`;

/** Arguments: the zone's marker, its directory, and the words that start the runner. Descriptor 3 is the life pipe. */
export const guardScript = `${sealFunction}
marker=$1; directory=$2; shift 2
seal 3
cd "$directory" || exit 1
"$@" <&0 3<&- &
child=$!
exec 0</dev/null 1>&-
read -r _ <&3
kill -KILL "$child" 2>/dev/null
wait "$child" 2>/dev/null
read -r task 2>/dev/null <task && kill -KILL -- "-$task" 2>/dev/null
for round in 1 2 3 4 5; do
  found=
  for environment in $(grep -lsz "^CLOUD_ZONE=$marker\\$" /proc/[0-9]*/environ); do
    process=\${environment#/proc/}; process=\${process%/environ}
    [ "$process" = $$ ] || { kill -KILL "$process" 2>/dev/null && found=1; }
  done
  [ -n "$found" ] || break
done
`;

/**
 * Runs as the first process of new namespaces. Arguments: the zone's directory, two directories to hide, and the words that
 * start the runner. The zone's root becomes /tmp; the rest of the zone lies below it, where only the runner, whose working
 * directory it is, writes. Everything else is read-only, and what allows to change that is given up.
 */
export const wallScript = `
set -e
zone=$1; data=$2; home=$3; shift 3
mount --bind "$zone" /tmp
cd /tmp
mount --bind in root/in
mount -o remount,bind,ro,nosuid,nodev,noexec root/in
mount --rbind root /tmp
mount -t proc proc /proc
for hidden in "$data" "$home"; do
  [ ! -d "$hidden" ] || mount -t tmpfs -o size=4k,mode=0555 none "$hidden"
done
for flags in ro ro,nodev ro,nosuid,nodev; do
  mount -o "remount,bind,$flags" / 2>/dev/null && break
done
exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"
`;

/**
 * Works in the zone's directory. Arguments: the zone's root and its inputs as seen inside, \`all\` where the runner may kill every process it sees, the command,
 * the init command, and the limits of memory (KiB) and of a file (KiB), each empty for none. On stdin each task is five texts ended
 * by NUL: slot, input object, input file, output base, reducer; a task without an input file reads the files in its list.
 * On stdout \`ready STATUS SIGNALLED\` after init, then \`SLOT STATUS SIGNALLED\` for each task.
 */
export const runnerScript = `${sealFunction}
root=$1; inputs=$2; reach=$3; command=$4; init=$5; memory=$6; blocks=$7
unset OLDPWD
trap : INT
cores=$(ulimit -H -c)
begin() {
  # First of all: the files may be there from the task before.
  exec >"out/$3" 2>"err/$3"
  if [ -n "$2" ]; then exec <"$2"; else exec < <(exec xargs -0 cat <"$inputs/$3/list" 2>/dev/null) && seal 2; fi
  # A task before may have removed what was prepared.
  cd "$root/$1" 2>/dev/null || { mkdir -p "$root/$1" && cd "$root/$1"; } || exit 126
  unset OLDPWD
  ulimit -S -c "$cores"
  [ -z "$blocks" ] || ulimit -f "$blocks" || exit 126
  [ -z "$memory" ] || ulimit -v "$memory" || exit 126
  shift 3
  exec "$@"
}
if [ "$reach" = all ]; then
  run() { (begin "$@"); }
  sweep() { kill -KILL -1; }
else
  set -m
  run() { (begin "$@") & echo $! >task; wait $!; }
  sweep() { kill -KILL -- "-$(<task)"; }
fi
finish() {
  status=$?; signalled=0
  if [ "$status" -gt 128 ]; then
    line=
    read -r line <note
    # Bash says nothing of some signals.
    case $line:$status in *' Exit '*) ;; :130 | :141) signalled=1 ;; :*) ;; *) signalled=1 ;; esac
  fi
  sweep 2>/dev/null
}
status=0; signalled=0
if [ -n "$init" ]; then
  run home /dev/null init "$BASH" -c "$init" 2>note
  finish
fi
echo "ready $status $signalled"
[ "$status" -eq 0 ] || exit 0
words=("$BASH" -c "$command")
# A program with plain words behind it needs no shell, which would cost as much as a short task.
case $command in
  *[!A-Za-z0-9_./,:@%+=\\ -]*) ;;
  *)
    plain=($command)
    [ "$(type -t -- "\${plain[0]}")" = file ] && words=("\${plain[@]}")
    ;;
esac
while IFS= read -r -d '' slot && IFS= read -r -d '' object && IFS= read -r -d '' file &&
  IFS= read -r -d '' base && IFS= read -r -d '' reducer; do
  export MANTA_OUTPUT_BASE=$base CLOUD_OUTPUT_BASE=$base
  if [ -n "$file" ]; then
    export MANTA_INPUT_OBJECT=$object CLOUD_INPUT_OBJECT=$object MANTA_INPUT_FILE=$file CLOUD_INPUT_FILE=$file
  else
    export MANTA_REDUCER=$reducer CLOUD_REDUCER=$reducer
  fi
  run "work/$slot" "$file" "$slot" "\${words[@]}" 2>note
  finish
  echo "$slot $status $signalled"
done
`;
