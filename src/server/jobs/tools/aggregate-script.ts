import { quoteShell } from '../../../base/quote.ts';

/** Aggregates by key. Numbers are printed in the shortest form that parses to the same number. */
const aggregateProgram = `
function number(value,   digits, text) {
  if (value == int(value) && value < 1e15 && value > -1e15) return sprintf("%d", value)
  for (digits = 15; digits < 17; digits++) {
    text = sprintf("%." digits "g", value)
    if (text + 0 == value) return text
  }
  return sprintf("%.17g", value)
}
function usage_error(message) { print "maggr: " message >"/dev/stderr"; failed = 2; exit 2 }
function cut(line,   at, found) {
  found = 0
  while ((at = index(line, delimiter)) > 0) {
    part[++found] = substr(line, 1, at - 1)
    line = substr(line, at + length(delimiter))
  }
  part[++found] = line
  return found
}
function check(list,   at, count, names) {
  count = split(list, names, ",")
  for (at = 1; at <= count; at++) {
    if (!(names[at] in known)) usage_error("unknown operation " names[at] ": maggr -l lists them")
    if (count > 1 && (names[at] == "key" || names[at] == "nop")) usage_error("a column that is " names[at] " has no other operation")
  }
}
function operations(column) { return column in given ? given[column] : column == 1 && keyed ? "key" : others }
function is_number(text) { return text ~ /^[ \\t]*[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?[ \\t\\r]*$/ }
function result(slot, name,   mean) {
  if (name == "sum") return number(sum[slot])
  if (name == "count") return number(count[slot])
  if (name == "min") return number(least[slot])
  if (name == "max") return number(most[slot])
  if (name == "range") return number(most[slot] - least[slot])
  if (name == "mean") return number(sum[slot] / count[slot])
  if (count[slot] < 2) return "NaN"
  return number(name == "stddev" ? sqrt(spread[slot] / (count[slot] - 1)) : spread[slot] / (count[slot] - 1))
}
BEGIN {
  delimiter = ENVIRON["delimiter"]; out = ENVIRON["out"]; inner = ENVIRON["inner"]; others = ENVIRON["others"]
  split("key nop count max mean min range sum ovariance variance stddev", names, " ")
  for (at in names) known[names[at]] = 1
  specs = split(ENVIRON["specs"], spec, "\\n")
  for (at = 1; at <= specs; at++) {
    place = index(spec[at], "=")
    column = substr(spec[at], 1, place - 1)
    if (place == 0 || column !~ /^[1-9][0-9]*$/) usage_error("-c " spec[at] ": must be COLUMN=OPERATIONS, like -c2=sum")
    given[column + 0] = substr(spec[at], place + 1)
    check(given[column + 0])
  }
  if (specs == 0 && others == "") usage_error("no operations: maggr -l lists them")
  check(others)
  if (others == "") others = "nop"
}
{
  columns = cut($0)
  # A list of operations alone aggregates by a first column that is no number.
  if (NR == 1) keyed = specs == 0 && !is_number(part[1])
  key = ""
  for (column = 1; column <= columns; column++) {
    wanted = operations(column)
    if (wanted == "key") key = key SUBSEP part[column]
    else if (wanted != "nop" && !is_number(part[column])) {
      print "maggr: line " NR ", column " column " is not a number: " $0 >"/dev/stderr"
      failed = 1
      next
    }
  }
  if (!(key in width)) order[++keys] = key
  if (columns > width[key]) width[key] = columns
  for (column = 1; column <= columns; column++) {
    wanted = operations(column)
    slot = key SUBSEP SUBSEP column
    if (wanted == "key") text[slot] = part[column]
    if (wanted == "key" || wanted == "nop") continue
    value = part[column] + 0
    if (!(slot in count)) { least[slot] = most[slot] = value; average[slot] = 0 }
    count[slot]++
    sum[slot] += value
    if (value < least[slot]) least[slot] = value
    if (value > most[slot]) most[slot] = value
    change = value - average[slot]
    average[slot] += change / count[slot]
    spread[slot] += change * (value - average[slot])
  }
}
END {
  if (failed == 2) exit 2
  for (number_of_key = 1; number_of_key <= keys; number_of_key++) {
    key = order[number_of_key]
    line = ""; written = 0
    for (column = 1; column <= width[key]; column++) {
      wanted = operations(column)
      if (wanted == "nop") continue
      slot = key SUBSEP SUBSEP column
      shown = text[slot]
      if (wanted != "key") {
        shown = ""
        wishes = split(wanted, wish, ",")
        for (at = 1; at <= wishes; at++) shown = shown (at > 1 ? inner : "") result(slot, wish[at])
      }
      line = line (written++ ? out : "") shown
    }
    print line
  }
  if (failed) exit 1
}
`;

export const maggr = `#!/usr/bin/env bash
set -u
fail() { printf 'maggr: %s\\n' "$*" >&2; exit 2; }
usage='usage: maggr [-c COLUMN=OPERATIONS]... [-d DELIMITER] [-o DELIMITER] [-i DELIMITER] [-f FILE] [OPERATIONS]; maggr -l'
specs= delimiter=' ' out= inner=, file=
while getopts :c:d:o:i:f:l option; do
  case $option in
    c) specs+=\${specs:+$'\\n'}$OPTARG ;;
    d) delimiter=$OPTARG ;;
    o) out=$OPTARG ;;
    i) inner=$OPTARG ;;
    f) file=$OPTARG ;;
    l) echo 'key nop count max mean min range sum ovariance variance stddev'; exit 0 ;;
    *) fail "$usage" ;;
  esac
done
shift $((OPTIND - 1))
[ $# -le 1 ] || fail "$usage"
[ -n "$delimiter" ] || fail '-d: must not be empty'
[ -z "$file" ] || exec <"$file" || exit 1
export specs delimiter inner out="\${out:-$delimiter}" others="\${1-}" LC_ALL=C
exec awk ${quoteShell(aggregateProgram)}
`;
