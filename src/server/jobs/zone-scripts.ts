/**
 * The two bash programs of a zone, for bash 3.2 and later. The guard runs outside the sandbox: it holds the zone's life pipe and kills
 * everything in the zone when that pipe closes, either because the service closes it or because the service is gone. The runner runs inside
 * the sandbox, where there is one, and starts one task after the other.
 */

/** Closes all file descriptors above the given one, whoever left them open. */
const sealFunction = `
seal() {
  for descriptor in /dev/fd/*; do
    descriptor=\${descriptor##*/}
    [ "$descriptor" -le "$1" ] || eval "exec $descriptor>&-"
  done
}`;

/**
 * Arguments: the zone's marker, its directory, `all` for a sandbox or `group`, a control group to join, a file to open as descriptor 4
 * (both may be empty), and the words that start the runner. Descriptor 3 is the life pipe. The guard kills the first process of a sandbox
 * rather than the process that started the sandbox: the latter ends when all processes inside are gone.
 */
export const guardScript = `${sealFunction}
marker=$1; directory=$2; reach=$3; group=$4; filter=$5; shift 5
seal 3
cd "$directory" || exit 1
# With job control a command in the background keeps the default action of SIGINT and SIGQUIT.
set -m
(
  exec 3<&-
  [ -z "$group" ] || echo 0 >"$group/cgroup.procs" || exit 1
  [ -z "$filter" ] || exec 4<"$filter" || exit 1
  exec "$@"
) <&0 &
child=$!
exec 0</dev/null 1>&-
read -r _ <&3
first=
[ "$reach" = group ] || read -r first 2>/dev/null <"/proc/$child/task/$child/children"
kill -KILL \${first:-"$child"} 2>/dev/null || kill -KILL "$child" 2>/dev/null
wait "$child" 2>/dev/null
read -r task 2>/dev/null <io/task && kill -KILL -- "-$task" 2>/dev/null
for round in 1 2 3 4 5; do
  found=
  for environment in $(grep -lsz "^CLOUD_ZONE=$marker\\$" /proc/[0-9]*/environ); do
    process=\${environment#/proc/}; process=\${process%/environ}
    [ "$process" = $$ ] || { kill -KILL "$process" 2>/dev/null && found=1; }
  done
  [ -n "$found" ] || break
done
[ -z "$group" ] || rmdir "$group" || { sleep 0.2; rmdir "$group"; }
`;

/** Digits of a length, and the size in bytes of all lengths of a task, each with a space before it. */
const lengthDigits = 7;
const lengthsSize = 5 * (lengthDigits + 1);

/**
 * Encodes a task for the runner: five texts one after the other (slot, input object, input file, output base, reducer), preceded by the
 * length in bytes of all of them and of each of the first four.
 */
export function writeTask(texts: readonly [slot: string, object: string, file: string, outputBase: string, reducer: string]): string {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const header = [total, ...lengths.slice(0, -1)].map((length) => ` ${String(length).padStart(lengthDigits, ' ')}`);
  return `${header.join('')}${texts.join('')}`;
}

/**
 * Arguments: the directory `io` of the zone, the zone's root and its inputs, as paths inside the sandbox; `all` in a sandbox, where every
 * process that the runner sees belongs to the zone; the shell of commands, the command, the init command; and the limits of data (KiB), of
 * a file (KiB), of open files and of processes, each empty for no limit.
 *
 * In a sandbox the runner first prints `entered`. It continues when the service has removed the path by which it entered `io`, so that
 * tasks have no path to `io`. On stdin it reads tasks as `writeTask` encodes them; a task without an input file reads the files in its
 * list. On stdout it prints `ready STATUS SIGNALLED 0 0 SIZE` after init, then `SLOT STATUS SIGNALLED DUMPED EMITTED SIZE` for each task.
 * DUMPED is 1 if a process left a core file. EMITTED is 1 if tools left outputs, which are then in `emitted/SLOT`, and 2 if they could not
 * be moved there. SIZE is the disk usage of the zone in bytes, if that is limited. A task that the service has withdrawn, marked by
 * `taken/SLOT`, is skipped: `SLOT taken`.
 *
 * A task may leave anything in its working directory. The runner removes the directory when no task runs; if the task failed, it keeps the
 * core files, which the service stores.
 */
export const runnerScript = `${sealFunction}
entry=$1; root=$2; inputs=$3; reach=$4; shell=$5; command=$6; init=$7; memory=$8; blocks=$9; files=\${10}; processes=\${11}
unset OLDPWD
shopt -s dotglob nullglob
# Not exported: tasks have their own locale. Lengths are bytes.
LC_ALL=C
# A task can send signals to the runner. The first process of a PID namespace gets those alone that it handles, and with job control bash
# handles all of these.
signals='HUP INT QUIT ILL TRAP ABRT BUS FPE SEGV USR1 USR2 PIPE ALRM TERM XCPU XFSZ VTALRM PROF SYS TSTP TTIN TTOU'
trap '' $signals
exec 4<&-
cd "$entry" || exit 1
if [ "$reach" = all ]; then
  echo entered
  IFS= read -r -d '' _ || exit 1
  [ ! -e "$entry" ] || exit 1
fi
limit() {
  [ -n "$2" ] || return
  local most
  most=$(ulimit -H "$1")
  [ "$most" != unlimited ] && [ "$most" -le "$2" ] || ulimit "$1" "$2" || exit 1
}
limit -n "$files"
limit -u "$processes"
cores=$(ulimit -H -c)
begin() {
  trap - $signals
  # First of all: the files may be there from the task before. Emptied and opened again, because ext4 writes a file to disk when the
  # descriptor that emptied it is closed, which costs 0.2 ms.
  : >"out/$3" 2>"err/$3"
  exec 1<>"out/$3" 2<>"err/$3"
  if [ -n "$2" ]; then exec <"$2"; else exec < <(exec xargs -0 cat <"$inputs/$3/list" 2>/dev/null) && seal 2; fi
  # A task before may have removed what was prepared.
  cd "$root/$1" 2>/dev/null || { mkdir -m 700 -p "$root/$1" && cd "$root/$1"; } || exit 126
  unset OLDPWD
  ulimit -S -c "$cores"
  [ -z "$blocks" ] || ulimit -f "$blocks" || exit 126
  [ -z "$memory" ] || ulimit -d "$memory" || exit 126
  shift 3
  exec "$@"
}
# With job control bash says of each signal that it ended a command: nothing else tells exit 130 from SIGINT.
set -m
if [ "$reach" = all ]; then
  run() { (begin "$@") & wait $!; }
  sweep() { kill -KILL -1; }
else
  # The guard reads the first line of this file, which is not emptied for the same reason.
  run() { (begin "$@") & task=$!; echo $task 1<>task; wait $task; }
  sweep() { kill -KILL -- "-$task"; }
fi
# What bash says of the end of a command; emptied before each.
exec 2>>note
finish() {
  status=$?; signalled=0
  if [ "$status" -gt 128 ]; then
    line=
    read -r line <note
    case $line in '' | *' Exit '*) ;; *) signalled=1 ;; esac
  fi
  sweep
}
remove() {
  rm -rf -- "$1" || { chmod -R u+rwx -- "$1"; rm -rf -- "$1"; }
} </dev/null >/dev/null 2>&1
keep_cores() {
  chmod u+rwx "$1"
  find "$1" -mindepth 1 -maxdepth 1 ! -name core ! -name 'core.*' -exec chmod -R u+rwx {} + -exec rm -rf {} +
} </dev/null >/dev/null 2>&1
is_core() {
  [ -f "$1" ] && [ ! -L "$1" ] && case $(od -An -tx1 -N18 "$1" | tr -d ' \n') in 7f454c46*0400 | 7f454c46*0004) ;; *) false ;; esac
} 2>/dev/null
# Core files, wherever below its working directory a process of the task was; all end up at the top, where the service finds one.
find_core() {
  local place=$1 file hasFolders=
  shift
  for file; do
    case \${file##*/} in core | core.*) ! is_core "$file" || dumped=1 ;; esac
    [ -L "$file" ] || [ ! -d "$file" ] || hasFolders=1
  done
  [ "$dumped" = 0 ] && [ -n "$hasFolders" ] || return
  while IFS= read -r -d '' file; do
    if is_core "$file"; then dumped=1; mv -f -- "$file" "$place/core"; break; fi
  done < <(find "$place" -mindepth 2 -type f \\( -name core -o -name 'core.*' \\) -print0 2>/dev/null)
} </dev/null
# What there is on disk, when nothing runs.
measure() {
  local sizes
  sizes=$(du -s -x --block-size=1 -- "$root" .) || { chmod -R u+rwX -- "$root"; sizes=$(du -s -x --block-size=1 -- "$root" .); }
  size=0
  while read -r each _; do size=$((size + each)); done <<<"$sizes"
} </dev/null 2>/dev/null
left=()
tidy() {
  local place=$root/work/$1 found
  dumped=0
  if [[ -d $place && ! -L $place && -r $place && -w $place && -x $place ]]; then
    found=("$place"/*)
    [ \${#found[@]} -gt 0 ] || return
    find_core "$place" "\${found[@]}"
    if [ "$2" -ne 0 ] || [ "$dumped" -ne 0 ]; then left[$1]=1; keep_cores "$place"; return; fi
  fi
  [[ ! -e $place && ! -L $place ]] || remove "$place"
}
# Outputs that the tools left are moved to where no later task comes.
take_outputs() {
  local place=$root/outputs/$1
  if [ "$status" -eq 0 ] && [ "$dumped" -eq 0 ]; then
    emitted=1
    rm -rf -- "emitted/$1"
    mv -- "$place" "emitted/$1" || emitted=2
  fi
  [ "$emitted" -eq 1 ] || remove "$place"
} </dev/null >/dev/null 2>&1
status=0; signalled=0
if [ -n "$init" ]; then
  run home /dev/null init "$shell" -c "$init"
  finish
fi
size=0
[ -z "$blocks" ] || measure
echo "ready $status $signalled 0 0 $size"
[ "$status" -eq 0 ] || exit 0
words=("$shell" -c "$command")
# A program with plain words behind it needs no shell, which would cost as much as a short task.
case $command in
  *[!A-Za-z0-9_./,:@%+=\\ -]*) ;;
  *)
    plain=($command)
    [ "$(type -t -- "\${plain[0]}")" = file ] && words=("\${plain[@]}")
    ;;
esac
# Texts of a known length are read in one call, where bash can (4.1); up to a delimiter it reads byte by byte.
exactly=(-N)
case $BASH_VERSION in [1-3].* | 4.0*) exactly=(-d '' -n) ;; esac
take() {
  local header lengths text
  IFS= read -r "\${exactly[@]}" ${lengthsSize} header || return
  lengths=($header)
  IFS= read -r "\${exactly[@]}" "\${lengths[0]}" text || return
  slot=\${text:0:lengths[1]}; text=\${text:lengths[1]}
  object=\${text:0:lengths[2]}; text=\${text:lengths[2]}
  file=\${text:0:lengths[3]}; text=\${text:lengths[3]}
  base=\${text:0:lengths[4]}; reducer=\${text:lengths[4]}
}
# Working directories are made before they are needed, twice as many each time: each call of mkdir costs as much as a short task.
made=0
make_places() {
  local most=$((made > $1 ? made * 2 : $1 + 1)) places=()
  for ((; made < most; made++)); do places+=("$root/work/$made"); done
  mkdir -m 700 -- "\${places[@]}"
} </dev/null >/dev/null 2>&1
while take; do
  # Looked at after the line about the task before: the service has read that line, or this finds the mark.
  [[ ! -e taken/$slot ]] || { echo "$slot taken"; continue; }
  export MANTA_OUTPUT_BASE=$base CLOUD_OUTPUT_BASE=$base CLOUD_OUTPUTS=$root/outputs/$slot
  if [ -n "$file" ]; then
    export MANTA_INPUT_OBJECT=$object CLOUD_INPUT_OBJECT=$object MANTA_INPUT_FILE=$file CLOUD_INPUT_FILE=$file
  else
    export MANTA_REDUCER=$reducer CLOUD_REDUCER=$reducer
  fi
  [ -z "\${left[$slot]-}" ] || { unset "left[$slot]"; remove "$root/work/$slot"; }
  [ "$slot" -lt "$made" ] || make_places "$slot"
  : >note
  run "work/$slot" "$file" "$slot" "\${words[@]}"
  finish
  [ -z "$blocks" ] || measure
  tidy "$slot" "$status"
  emitted=0
  [[ ! -e $root/outputs/$slot && ! -L $root/outputs/$slot ]] || take_outputs "$slot"
  echo "$slot $status $signalled $dumped $emitted $size"
done
`;
