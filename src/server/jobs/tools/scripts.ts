import { maggr } from './aggregate-script.ts';
import { source } from './shell-text.ts';
import { msplit } from './split-script.ts';

/**
 * The tools on the PATH of tasks, for bash and awk. They write their outputs to the directory `$CLOUD_OUTPUTS` as pairs of files: `N.body`
 * and, once that is complete, `N.head`, which consists of NUL-terminated texts: kind, reducer, path, `-p`, copies and headers
 * (`emissions.ts` reads them). N increases in the order in which the tools were called.
 */

/** Shell functions shared by the tools; each tool sources this file. */
const library = `
set -u
shopt -s nullglob
tool=\${0##*/}
fail() { printf '%s: %s\\n' "$tool" "$*" >&2; exit 2; }
[ -n "\${CLOUD_OUTPUTS-}" ] || fail 'works only in the task of a job'
whole() {
  case $1 in
    '~~' | '~~/'*) path=/\${MANTA_USER-}\${1#'~~'} ;;
    /*) path=$1 ;;
    *) fail "$1: not the path of an object: begin with ~~/ or /LOGIN/" ;;
  esac
}
number() { case $2 in '' | *[!0-9]*) fail "$1 $2: must be a whole number" ;; esac; }
check_reducer() {
  number -r "$1"
  [ "\${CLOUD_REDUCERS:-0}" -eq 0 ] || [ "$1" -lt "$CLOUD_REDUCERS" ] ||
    fail "-r $1: the next phase has $CLOUD_REDUCERS reducers, 0 to $((CLOUD_REDUCERS - 1))"
}
reserve() {
  local taken
  mkdir -p -- "$CLOUD_OUTPUTS" || exit 1
  taken=("$CLOUD_OUTPUTS"/*.body)
  place=\${#taken[@]}
  until (set -C; : >"$CLOUD_OUTPUTS/$place.body") 2>/dev/null; do
    [ -e "$CLOUD_OUTPUTS/$place.body" ] || fail "cannot write to $CLOUD_OUTPUTS"
    place=$((place + 1))
  done
  body=$CLOUD_OUTPUTS/$place.body
}
emit() { printf '%s\\0' "$@" >"$CLOUD_OUTPUTS/$place.head" || exit 1; }
`;

const pipeOptions = `
parents= reducer= file= copies= headers=()
while getopts :pr:f:H:c: option; do
  case $option in
    p) parents=1 ;;
    r) check_reducer "$OPTARG"; reducer=$OPTARG ;;
    f) [ -f "$OPTARG" ] && [ -r "$OPTARG" ] || fail "-f $OPTARG: not a file that can be read"; file=$OPTARG ;;
    H) case $OPTARG in *:*) headers+=("$OPTARG") ;; *) fail "-H $OPTARG: must be NAME: VALUE" ;; esac ;;
    c) number -c "$OPTARG"; copies=$OPTARG ;;
    *) fail "$usage" ;;
  esac
done
shift $((OPTIND - 1))
[ $# -le 1 ] || fail "$usage"
path=
[ $# -eq 0 ] || whole "$1"
[ -z "$file" ] || exec <"$file" || exit 1
`;

const mpipe = `${source}usage='usage: mpipe [-p] [-r REDUCER] [-f FILE] [-c COPIES] [-H "NAME: VALUE"] [PATH]'
${pipeOptions}
reserve
cat >"$body" || exit 1
emit output "$reducer" "$path" "$parents" "$copies" \${headers[@]+"\${headers[@]}"}
`;

const mtee = `${source}usage='usage: mtee [-p] [-f FILE] [-c COPIES] [-H "NAME: VALUE"] PATH'
${pipeOptions}
[ -n "$path" ] && [ -z "$reducer" ] || fail "$usage"
reserve
cat >"$body" || exit 1
emit tee '' "$path" "$parents" "$copies" \${headers[@]+"\${headers[@]}"}
exec cat "$body"
`;

const mcat = `${source}usage='usage: mcat [-r REDUCER] PATH...'
reducer=
while getopts :r: option; do
  case $option in
    r) check_reducer "$OPTARG"; reducer=$OPTARG ;;
    *) fail "$usage" ;;
  esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || fail "$usage"
paths=()
for word; do
  whole "$word"
  paths+=("$path")
done
reserve
printf '%s\\0' "\${paths[@]}" >"$body" || exit 1
emit objects "$reducer" '' '' ''
`;

/** The files of the tools by their names. */
export const taskTools: Readonly<Record<string, string>> = { '.job-tools': library, mcat, mpipe, msplit, mtee, maggr };
