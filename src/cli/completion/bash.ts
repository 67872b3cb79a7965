import { askInBash } from './ask-bash.ts';
import { isLast, listNames, quote, type OptionWords, type Place, type ValueWords, type Words } from './words.ts';

/** The part of the script that does not depend on the commands. */
const engine = `# Takes the letters of $1 (-yo) up to the first with a value; sets letter to that one and rest to what follows it.
_cloud_letters() {
  local at
  letter='' rest=''
  for ((at = 1; at < \${#1}; at++)); do
    given+="-\${1:at:1} "
    if _cloud_value "$place" "-\${1:at:1}"; then
      letter=-\${1:at:1} rest=\${1:at+1}
      return 0
    fi
  done
  return 1
}

# Takes a word that stands before the cursor.
_cloud_take() {
  local letter rest
  if [[ -n $pending ]]; then
    pending=''
  elif [[ -n $ended ]]; then
    ((count += 1))
  elif [[ $1 == -- ]]; then
    ended=1
  elif [[ $1 == --* ]]; then
    given+="\${1%%=*} "
    [[ $1 == *=* ]] || ! _cloud_value "$place" "$1" || pending=$1
  elif [[ $1 == -?* ]]; then
    ! _cloud_letters "$1" || [[ -n $rest ]] || pending=$letter
  else
    _cloud_enter "$place" "$1" || ((count += 1))
  fi
}

# Offers a word: without the part that readline does not take for a part of the word.
_cloud_offer() {
  local word=$prefix$1
  [[ $word == "$typed"* ]] && COMPREPLY+=("\${word#"$kept"}")
}

# Sets config to the folder of profiles and aliases; without HOME, to one that cannot exist.
_cloud_config() {
  config=\${XDG_CONFIG_HOME:-}
  [[ $config == /* ]] || config=\${HOME:-/dev/null}/.config
  if [[ \${CLOUD_HOME:-} == /* ]]; then config=$CLOUD_HOME/config; else config+=/cloud; fi
}

_cloud_offer_value() {
  local word config
  case $kind in
    words) for word in $choices; do _cloud_offer "$word"; done ;;
    file) compopt -o default 2>/dev/null ;;
    directory) compopt -o dirnames 2>/dev/null ;;
    profile)
      _cloud_config
      for word in "$config"/profiles/*.json; do
        word=\${word##*/}
        [[ $word == '*.json' ]] || _cloud_offer "\${word%.json}"
      done
      ;;
    alias)
      _cloud_config
      [[ ! -e $config/aliases.json ]] || _cloud_ask alias
      ;;
    text) ;;
    file-or-path) _cloud_ask_beside_files ;;
    *) _cloud_ask "$kind" ;;
  esac
}

# Options in their long form, without those that are there already; a + at the end says that it may be repeated.
_cloud_offer_options() {
  local option name isThere
  for option in $options; do
    isThere=''
    for name in \${option//,/ }; do [[ $given != *" $name "* ]] || isThere=1; done
    [[ -z $isThere || $option == *+ ]] || continue
    option=\${option%+}
    for name in \${option//,/ }; do [[ $name != --* ]] || _cloud_offer "$name"; done
  done
}

# Other names of a command are offered when its own does not begin as the word does.
_cloud_offer_commands() {
  local name pair
  for name in $commands; do _cloud_offer "$name"; done
  [[ -n $typed ]] || return
  for pair in $aliases; do [[ \${pair%%=*} == "$typed"* ]] || _cloud_offer "\${pair#*=}"; done
}

_cloud() {
  local IFS=$' \\t\\n' i word words=() line=\${COMP_LINE:0:COMP_POINT}
  local place='' count=0 pending='' ended='' given=' ' letter='' rest='' prefix=''
  local commands='' aliases='' options='' kind='' choices=''
  COMPREPLY=()
  # readline breaks words at = and : too: they are put together again.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if ((i == 0)) || [[ $line == [[:blank:]]* ]]; then
      line=\${line#"\${line%%[![:blank:]]*}"}
      words+=('')
    fi
    [[ $line == "$word"* ]] || word=$line
    words[\${#words[@]} - 1]+=$word
    line=\${line#"$word"}
  done
  local last=$((\${#words[@]} - 1))
  for ((i = 1; i < last; i++)); do _cloud_take "\${words[i]}"; done
  local typed=\${words[last]} current=\${2-}
  local kept=\${typed%"$current"}
  _cloud_place "$place"
  if [[ -n $pending ]]; then
    _cloud_value "$place" "$pending" && _cloud_offer_value
  elif [[ -z $ended && $typed == --*=* ]]; then
    prefix=\${typed%%=*}=
    _cloud_value "$place" "\${typed%%=*}" && _cloud_offer_value
  elif [[ -z $ended && $typed == -[!-]* ]] && _cloud_letters "$typed" && [[ -n $rest ]]; then
    prefix=\${typed%"$rest"}
    _cloud_offer_value
  elif [[ -z $ended && $typed == -* ]]; then
    _cloud_offer_options
  else
    [[ -n $ended ]] || ((count > 0)) || _cloud_offer_commands
    ! _cloud_argument "$place" "$count" || _cloud_offer_value
    [[ -n $ended || -n $typed || -n $kind || -n $commands ]] || _cloud_offer_options
  fi
}

# bash before 4 cannot say from inside that file names are wanted.
if type compopt >/dev/null 2>&1; then complete -F _cloud cloud; else complete -o default -F _cloud cloud; fi
`;

function printValue({ choices, source }: ValueWords): string {
  if (choices.length > 0) return `kind=words choices=${quote(choices.join(' '))}`;
  return `kind=${source === undefined || source === 'command' ? 'text' : source}`;
}

function printCase(patterns: readonly string[], action: string): string {
  return `    ${patterns.join('|')}) ${action} ;;`;
}

function printToken(option: OptionWords): string {
  return listNames(option).join(',') + (option.repeatable ? '+' : '');
}

function printTokens(options: readonly OptionWords[]): string {
  return options.map(printToken).join(' ');
}

/** The commands of a place, their aliases as `list=ls`, and its options. */
function printPlace(place: Place, { shared }: Words): string {
  const names = place.commands.map(({ name }) => name).join(' ');
  const aliases = place.commands.flatMap(({ name, aliases }) => aliases.map((alias) => `${name}=${alias}`)).join(' ');
  const inherited = printTokens(place.shared);
  const others = inherited === printTokens(shared) ? '$_cloud_shared' : inherited;
  const parts = [
    ...(names === '' ? [] : [`commands=${quote(names)}`]),
    ...(aliases === '' ? [] : [`aliases=${quote(aliases)}`]),
    `options="${[printTokens(place.own), others].filter((part) => part !== '').join(' ')}"`,
  ];
  return printCase([quote(place.path)], parts.join(' '));
}

function printEntries({ path, commands, fallback }: Place): string[] {
  const entries = commands.map(({ name, aliases, target }) => {
    const patterns = [name, ...aliases].map((word) => quote(`${path}/${word}`));
    return printCase(patterns, `place=${quote(target)}`);
  });
  return fallback === undefined ? entries : [...entries, printCase([`${quote(`${path}/`)}*`], `place=${quote(fallback)}; return 1`)];
}

/** The values of a place's own options; those without a value only if they hide a shared option that has one. */
function printOwnValues({ path, own }: Place, { shared }: Words): string[] {
  const valued = new Set(shared.filter(({ value }) => value).flatMap(listNames));
  return own.flatMap((option) => {
    const names = option.value ? listNames(option) : listNames(option).filter((name) => valued.has(name));
    const patterns = names.map((name) => quote(`${path}/${name}`));
    return patterns.length === 0 ? [] : [printCase(patterns, option.value ? printValue(option.value) : 'return 1')];
  });
}

function printSharedValue(option: OptionWords): string[] {
  const patterns = listNames(option).map((name) => `*/${name}`);
  return option.value ? [printCase(patterns, printValue(option.value))] : [];
}

function printArguments(place: Place): string[] {
  return place.arguments.map((value, at) =>
    printCase([isLast(place, at) ? `${quote(`${place.path}/`)}*` : quote(`${place.path}/${at}`)], printValue(value)),
  );
}

function printFunction(comment: string, name: string, subject: string, cases: readonly string[]): string {
  return [`# ${comment}`, `${name}() {`, `  case ${subject} in`, ...cases, '    *) return 1 ;;', '  esac', '}', ''].join('\n');
}

/** The completion script for bash. Starts a process only for values that are not commands, options, choices, files or profiles. */
export function printBash(words: Words): string {
  const { places, shared } = words;
  return [
    '# Completion of cloud for bash. Install: source <(cloud completion bash)',
    '',
    `_cloud_shared=${quote(printTokens(shared))}`,
    '',
    printFunction('Goes from command $1 to the one that word $2 names.', '_cloud_enter', '"$1/$2"', places.flatMap(printEntries)),
    printFunction(
      'What can follow command $1.',
      '_cloud_place',
      '"$1"',
      places.map((place) => printPlace(place, words)),
    ),
    printFunction('What option $2 of command $1 takes.', '_cloud_value', '"$1/$2"', [
      ...places.flatMap((place) => printOwnValues(place, words)),
      ...shared.flatMap(printSharedValue),
    ]),
    printFunction('What argument number $2 of command $1 is.', '_cloud_argument', '"$1/$2"', places.flatMap(printArguments)),
    askInBash,
    engine,
  ].join('\n');
}
