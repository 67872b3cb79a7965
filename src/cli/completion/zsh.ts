import { findLookUp, listNames, quote, type OptionWords, type Place, type ValueWords, type Words } from './words.ts';

/** The parts of the script that do not depend on the commands. */
const engine = `# Takes the letters of $1 (-yo) up to the first with a value; true when that value is the next word.
_cloud_letters() {
  local at
  for ((at = 2; at <= \${#1}; at++)); do
    _cloud_valued "$place" "-\${1[at]}" && return $((at < \${#1}))
  done
  return 1
}

# Takes a word before the cursor; those that are not the name of a command are kept for _arguments.
_cloud_take() {
  if [[ -n $pending ]]; then
    pending=''
  elif [[ -n $ended ]]; then
    :
  elif [[ $1 == -- ]]; then
    ended=1
  elif [[ $1 == --* ]]; then
    # Of an option that occurs twice, as with an alias that contains it, _arguments knows the last one only.
    local at=\${kept[(Ie)$1]} width=0
    [[ $1 == *=* ]] || ! _cloud_valued "$place" "$1" || pending=1 width=1
    (( ! at )) || kept[at,at+width]=()
  elif [[ $1 == -?* ]]; then
    ! _cloud_letters "$1" || pending=1
  elif _cloud_enter "$place" "$1"; then
    return
  fi
  kept+=("$1")
}

# Says what is wanted where nothing can be offered; beside an option it would keep that from being completed.
_cloud_text() {
  [[ $PREFIX == -* ]] || _message -e values "$1"
  return 1
}

# Sets config to the folder of profiles and aliases; without HOME, to one that cannot exist.
_cloud_config() {
  config=\${XDG_CONFIG_HOME:-}
  [[ $config == /* ]] || config=\${HOME:-/dev/null}/.config
  if [[ \${CLOUD_HOME:-} == /* ]]; then config=$CLOUD_HOME/config; else config+=/cloud; fi
}

_cloud_profiles() {
  local config
  _cloud_config
  local -a names=($config/profiles/*.json(N:t:r))
  compadd -a names
}

# Offers what the program knows of source $1: it is asked for what begins as typed.
_cloud_ask() {
  [[ -n $ended || $PREFIX != -* ]] || return 1
  local entry typed=$PREFIX
  local -a values displays folders shown
  # What is typed within double quotes has backslashes of its own; within single ones it is as it stands.
  if [[ $compstate[quote] == '"' ]]; then
    typed="\\"$PREFIX\\""
    typed=\${(Q)typed}
  elif [[ -z $compstate[quote] ]]; then
    typed=\${(Q)PREFIX}
  fi
  # Quoted like the rest of a word, ~~/ would still mean the same, but look odd.
  local head=''
  ! compset -P '(stor:|)\\~\\~/' || head=\${typed%%\\~\\~/*}\\~\\~/
  for entry in "\${(@f)$(command cloud __complete $1 "$typed" "\${(@Q)before}" 2>/dev/null </dev/null)}"; do
    [[ -n $entry ]] || continue
    local value=\${\${entry%%$'\\t'*}#$head} help=''
    [[ $entry != *$'\\t'* ]] || help=" -- \${entry#*$'\\t'}"
    # Of a path only the last part is shown.
    local name=$value
    [[ $1 != path ]] || name=\${\${value%/}##*/}\${value##*[^/]}
    if [[ $value == */ ]]; then folders+=("$value") shown+=("$name$help"); else values+=("$value") displays+=("$name$help"); fi
  done
  local -a described
  [[ "$displays$shown" != *' -- '* ]] || described=(-l)
  (( $#folders + $#values )) || { _cloud_text "$2"; return; }
  (( ! $#folders )) || compadd -S '' $described -d shown -a folders
  (( ! $#values )) || compadd $described -d displays -a values
}

# Files, and paths of the object storage where they are meant or no file begins as typed.
_cloud_ask_beside_files() {
  [[ $PREFIX == (stor:*|[^/]*/stor:*|\\~\\~*) ]] || ! _files || return 0
  _cloud_ask path "$1"
}

# Other names of a command are offered when its own does not begin as the word does; aliases of the user are commands too.
_cloud_commands() {
  local entry config
  local -a commands aliases
  _cloud_list "$place"
  for entry in $aliases; do
    [[ -z $PREFIX || \${entry%%=*} == $PREFIX* || \${entry#*=} != $PREFIX* ]] || commands+=("\${entry#*=}")
  done
  _cloud_config
  if [[ -z $place && -e $config/aliases.json ]]; then
    for entry in "\${(@f)$(command cloud __complete alias "$PREFIX" 2>/dev/null </dev/null)}"; do
      [[ -z $entry ]] || commands+=("\${entry/$'\t'/:}")
    done
  fi
  _describe -t commands command commands
}

_cloud() {
  local place='' pending='' ended='' word
  local -a kept=("$words[1]") specs before=("\${(@)words[2,CURRENT-1]}")
  for word in "\${(@)words[2,CURRENT-1]}"; do _cloud_take "$word"; done
  words=("\${(@)kept}" "\${(@)words[CURRENT,-1]}")
  CURRENT=$((\${#kept} + 1))
  _cloud_specs "$place"
  _arguments -s -S : "\${(@)specs}"
}

# The file is the body of the function when fpath finds it, and a script when it is sourced.
if [[ \${funcstack[1]} == _cloud ]]; then _cloud "$@"; else compdef _cloud cloud; fi
`;

/** Escapes text in a specification of _arguments. */
function escape(text: string): string {
  return text.replaceAll(/[\\:[\]]/g, (character) => `\\${character}`);
}

function printAction(value: ValueWords): string {
  const { placeholder, choices, source } = value;
  const lookUp = findLookUp(value);
  if (choices.length > 0) return `(${choices.join(' ')})`;
  if (source === 'file') return '_files';
  if (source === 'directory') return '_files -/';
  if (lookUp !== undefined)
    return `{${lookUp === 'file-or-path' ? '_cloud_ask_beside_files' : `_cloud_ask ${lookUp}`} "${escape(placeholder)}"}`;
  return source === 'profile' ? '_cloud_profiles' : `{_cloud_text "${escape(placeholder)}"}`;
}

/** One specification for each spelling; spellings exclude each other unless the option is repeatable. */
function printOption(option: OptionWords): string[] {
  const names = listNames(option);
  const head = option.repeatable ? '*' : names.length > 1 ? `(${names.join(' ')})` : '';
  return names.map((name) => {
    const tail = option.value ? `:${escape(option.value.placeholder)}:${printAction(option.value)}` : '';
    const joint = option.value ? (name.startsWith('--') ? '=' : '+') : '';
    return quote(`${head}${name}${joint}[${escape(option.help)}]${tail}`);
  });
}

function printArguments({ arguments: args, commands, variadic }: Place): string[] {
  const specs = args.map((value, at) => {
    const position = variadic && at === args.length - 1 ? '*' : String(at + 1);
    return `${position}:${escape(value.placeholder)}:${printAction(value)}`;
  });
  if (commands.length === 0) return specs.map(quote);
  return ['1:command:_cloud_commands', ...specs.slice(1)].map(quote);
}

function printSpecs(place: Place, shared: string): string[] {
  const inherited = place.shared.flatMap(printOption);
  const others = inherited.join(' ') === shared ? ['"${(@)_cloud_shared}"'] : inherited;
  const specs = [...printArguments(place), ...place.own.flatMap(printOption), ...others];
  return [`    ${quote(place.path)})`, '      specs=(', ...specs.map((spec) => `        ${spec}`), '      )', '      ;;'];
}

function printList({ path, commands }: Place): string[] {
  if (commands.length === 0) return [];
  const words = commands.map(({ name, summary }) => `        ${quote(`${escape(name)}:${summary}`)}`);
  const aliases = commands.flatMap(({ name, aliases, summary }) =>
    aliases.map((alias) => `        ${quote(`${name}=${escape(alias)}:${summary}`)}`),
  );
  return [`    ${quote(path)})`, '      commands=(', ...words, '      )', '      aliases=(', ...aliases, '      )', '      ;;'];
}

function printEntries({ path, commands, fallback }: Place): string[] {
  const entries = commands.map(({ name, aliases, target }) => {
    const patterns = [name, ...aliases].map((word) => quote(`${path}/${word}`));
    return `    ${patterns.join('|')}) place=${quote(target)} ;;`;
  });
  return fallback === undefined ? entries : [...entries, `    ${quote(`${path}/`)}*) place=${quote(fallback)}; return 1 ;;`];
}

function printValued({ path, own }: Place, valued: ReadonlySet<string>): string[] {
  const patterns = (isValued: boolean): string[] =>
    own
      .filter(({ value }) => (value !== undefined) === isValued)
      .flatMap(listNames)
      .filter((name) => isValued || valued.has(name))
      .map((name) => quote(`${path}/${name}`));
  const [yes, no] = [patterns(true), patterns(false)];
  return [...(yes.length === 0 ? [] : [`    ${yes.join('|')}) ;;`]), ...(no.length === 0 ? [] : [`    ${no.join('|')}) return 1 ;;`])];
}

function printFunction(comment: string, name: string, subject: string, cases: readonly string[]): string {
  return [`# ${comment}`, `${name}() {`, `  case ${subject} in`, ...cases, '    *) return 1 ;;', '  esac', '}', ''].join('\n');
}

/** The completion script for zsh, with descriptions. Starts a process only for values from the program. Works from fpath and sourced. */
export function printZsh({ places, shared }: Words): string {
  const sharedSpecs = shared.flatMap(printOption);
  const valued = new Set(shared.filter(({ value }) => value).flatMap(listNames));
  return [
    '#compdef cloud',
    '# Completion of cloud for zsh. Install: cloud completion zsh > "${fpath[1]}/_cloud"',
    '',
    ['typeset -ga _cloud_shared=(', ...sharedSpecs.map((spec) => `  ${spec}`), ')', ''].join('\n'),
    printFunction('Goes from command $1 to the one that word $2 names.', '_cloud_enter', '"$1/$2"', places.flatMap(printEntries)),
    printFunction('Whether option $2 of command $1 takes a value.', '_cloud_valued', '"$1/$2"', [
      ...places.flatMap((place) => printValued(place, valued)),
      `    ${[...valued].map((name) => `*/${name}`).join('|')}) ;;`,
    ]),
    printFunction('The commands below command $1.', '_cloud_list', '"$1"', places.flatMap(printList)),
    printFunction(
      'Arguments and options of command $1.',
      '_cloud_specs',
      '"$1"',
      places.flatMap((place) => printSpecs(place, sharedSpecs.join(' '))),
    ),
    engine,
  ].join('\n');
}
