import { quoteShell } from '../../../base/quote.ts';
import { source } from './shell-text.ts';

/** Writes each line to the file of its reducer. The hash of a key is the same on every machine and in every run. */
const splitProgram = `
function hash(text,   at, value) {
  value = 7
  for (at = 1; at <= length(text); at++) value = (value * 31 + code[substr(text, at, 1)]) % 4294967291
  return value
}
function cut_text(line,   at, found, key, wanted) {
  found = 0
  while ((at = index(line, delimiter)) > 0) {
    part[++found] = substr(line, 1, at - 1)
    line = substr(line, at + length(delimiter))
  }
  part[++found] = line
  key = ""
  for (at = 1; at <= fields; at++) {
    wanted = field[at] + 0
    if (wanted < 1 || wanted > found || part[wanted] == "") continue
    key = key == "" ? part[wanted] : key delimiter part[wanted]
  }
  return key
}
# The end of the JSON value that begins at a place.
function skip_value(line, at,   sign, depth, inside) {
  depth = 0; inside = 0
  for (; at <= length(line); at++) {
    sign = substr(line, at, 1)
    if (inside) {
      if (sign == "\\\\") at++
      else if (sign == "\\"") { inside = 0; if (depth == 0) return at }
    } else if (sign == "\\"") inside = 1
    else if (sign == "{" || sign == "[") depth++
    else if (sign == "}" || sign == "]") { if (depth == 0) return at - 1; if (--depth == 0) return at }
    else if (depth == 0 && (sign == "," || sign == " ")) return at - 1
  }
  return at - 1
}
# The text of a member of a JSON object, without quotes; its absence leaves found 0.
function member(line, name,   at, end, key, value) {
  found = 0
  at = index(line, "{") + 1
  while (at > 1 && at <= length(line)) {
    while (substr(line, at, 1) ~ /[ \\t,]/) at++
    if (substr(line, at, 1) != "\\"") return ""
    end = skip_value(line, at)
    key = substr(line, at + 1, end - at - 1)
    at = end + 1
    while (substr(line, at, 1) ~ /[ \\t:]/) at++
    end = skip_value(line, at)
    value = substr(line, at, end - at + 1)
    if (key == name) { found = 1; break }
    at = end + 1
  }
  if (!found) return ""
  if (substr(value, 1, 1) == "\\"") value = substr(value, 2, length(value) - 2)
  return value
}
function cut_json(line,   at, steps, step, names, value, key) {
  if (line !~ /^[ \\t]*[{].*[}][ \\t\\r]*$/) die("line " NR " is not a JSON object: " line)
  key = ""
  for (at = 1; at <= fields; at++) {
    steps = split(field[at], names, ".")
    value = line
    for (step = 1; step <= steps; step++) { value = member(value, names[step]); if (!found) break }
    if (found) key = key == "" ? value : key delimiter value
  }
  return key
}
function die(message) { print "msplit: " message >"/dev/stderr"; failed = 1; exit 1 }
BEGIN {
  for (at = 1; at < 256; at++) code[sprintf("%c", at)] = at
  fields = split(list, field, ",")
  count = split(bodies, body, "\\n")
}
{
  if (keys != "") { if ((getline key < keys) <= 0) die("the -e program gave no key for line " NR) }
  else key = json ? cut_json($0) : cut_text($0)
  if (literal) {
    if (key !~ /^[0-9]+$/ || key + 0 >= count) die("line " NR ": \\"" key "\\" is not a reducer from 0 to " count - 1)
    reducer = key + 0
  } else reducer = hash(key) % count
  print $0 > body[reducer + 1]
}
END { if (failed) exit 1 }
`;

const keyProgram = `
const { argv, stdin, stdout } = require('node:process');
const [code, json] = argv.slice(1);
const body = code.includes('return') ? code : 'return (' + code.replace(/;\\s*$/, '') + ')';
const find = new Function('line', body);
const lines = require('node:readline').createInterface({ input: stdin, crlfDelay: Infinity });
lines.on('line', (line) => {
  const key = find.call(json ? JSON.parse(line) : { line }, line);
  if (typeof key !== 'string' && typeof key !== 'number') throw new Error('the -e program gave ' + typeof key + ' for: ' + line);
  stdout.write(String(key).replace(/\\n/g, ' ') + '\\n');
});
`;

export const msplit = `${source}usage='usage: msplit [-n REDUCERS] [-d DELIMITER] [-f FIELDS] [-i] [-j] [-e JAVASCRIPT]'
count=\${CLOUD_REDUCERS:-0} delimiter=$'\\t' list= literal= json= code=
while getopts :n:d:f:e:ij option; do
  case $option in
    n) number -n "$OPTARG"; count=$((10#$OPTARG)) ;;
    d) delimiter=$OPTARG ;;
    f) list=\${list:+$list,}$OPTARG ;;
    e) code=$OPTARG ;;
    i) literal=1 ;;
    j) json=1 ;;
    *) fail "$usage" ;;
  esac
done
shift $((OPTIND - 1))
[ $# -eq 0 ] || fail "$usage"
[ "\${CLOUD_REDUCERS:-0}" -gt 0 ] || fail 'the next phase has no reducers'
[ "$count" -ge 1 ] && [ "$count" -le "$CLOUD_REDUCERS" ] || fail "-n $count: the next phase has $CLOUD_REDUCERS reducers"
[ -n "$delimiter" ] || fail '-d: must not be empty'
[ -n "$list" ] || [ -z "$json" ] || [ -n "$code" ] || fail '-j needs -f FIELDS'
[ -n "$json" ] || case $list in *[!0-9,]*) fail "-f $list: must be numbers of fields" ;; esac
places=() bodies= keys=
for ((part = 0; part < count; part++)); do
  reserve
  places+=("$place")
  bodies+=\${bodies:+$'\\n'}$body
done
if [ -n "$code" ]; then
  type -P node >/dev/null || fail '-e needs Node.js, which is not on the PATH of this task: use -f'
  input=$(mktemp) keys=$(mktemp) || exit 1
  cat >"$input" && node -e ${quoteShell(keyProgram)} "$code" "$json" <"$input" >"$keys" || exit 1
  exec <"$input"
fi
export LC_ALL=C
bodies=$bodies delimiter=$delimiter awk -v list="\${list:-1}" -v literal="$literal" -v json="$json" -v keys="$keys" '
BEGIN { bodies = ENVIRON["bodies"]; delimiter = ENVIRON["delimiter"] }'${quoteShell(splitProgram)} || exit 1
for ((part = 0; part < count; part++)); do
  place=\${places[part]}
  if [ -s "$CLOUD_OUTPUTS/$place.body" ]; then emit output "$part" '' '' ''; else emit none '' '' '' ''; fi
done
`;
