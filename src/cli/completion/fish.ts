import { findLookUp, isLast, listNames, type OptionWords, type Place, type ValueWords, type Words } from './words.ts';

/** The parts of the script that do not depend on the commands. */
const engine = `# Takes the letters of $argv[2] (-yo) up to the first with a value; true when that value is the next word.
function __cloud_letters
    set -l letters (string split '' -- (string sub -s 2 -- $argv[2]))
    for at in (seq (count $letters))
        if __cloud_valued $argv[1] -$letters[$at]
            test $at -eq (count $letters)
            return
        end
    end
    return 1
end

# Finds the command that the words before the cursor name and the number of its arguments among them.
function __cloud_walk
    set -l line (commandline -cp)
    test "$line" = "$__cloud_line"; and return
    set -g __cloud_line $line
    set -g __cloud_place ''
    set -g __cloud_count 0
    set -l pending ''
    set -l ended ''
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        if test -n "$pending"
            set pending ''
        else if test -n "$ended"
            set __cloud_count (math $__cloud_count + 1)
        else if test "$word" = --
            set ended 1
        else if string match -q -- '--*=*' $word
            continue
        else if string match -q -- '--*' $word
            __cloud_valued "$__cloud_place" $word; and set pending 1
        else if string match -q -- '-?*' $word
            __cloud_letters "$__cloud_place" $word; and set pending 1
        else if not __cloud_enter $word
            set __cloud_count (math $__cloud_count + 1)
        end
    end
end

# Whether the words before the cursor name one of these commands.
function __cloud_at
    __cloud_walk
    contains -- "$__cloud_place" $argv
end

# Whether the name of a command below $argv[1] can stand here.
function __cloud_below
    __cloud_at $argv[1]; and test $__cloud_count -eq 0
end

# Whether argument $argv[2] (or a later one, up to $argv[3]) of command $argv[1] stands here.
function __cloud_argument
    __cloud_at $argv[1]; and test $__cloud_count -ge $argv[2] -a $__cloud_count -le $argv[3]
end

# Other names of commands, each after its own: offered when its own does not begin as the word does.
function __cloud_aliases
    set -l typed (commandline -ct)
    test -n "$typed"; or return
    while set -q argv[3]
        string match -q -- "$typed*" $argv[1]; or printf '%s\\t%s\\n' $argv[2] $argv[3]
        set -e argv[1..3]
    end
end

# What the shell makes of the word at the cursor, without the name of an option before it.
function __cloud_typed
    set -l word (string replace -r -- '^--[^=]*=' '' (commandline -ct))
    for mark in '' "'" '"'
        string unescape -- "$word$mark" 2>/dev/null; and return
    end
end

# What the program knows of a source, with descriptions: it is asked for what begins as typed.
function __cloud_ask
    set -l words (commandline -opc)
    contains -- -- $words; or not string match -q -r -- '^-[^=]*$' (commandline -ct); or return
    set -e words[1]
    command cloud __complete $argv[1] (__cloud_typed | string collect -a) $words 2>/dev/null </dev/null
end

# Paths of the object storage where they are meant or no file begins as typed.
function __cloud_ask_beside_files
    set -l typed (__cloud_typed | string collect -a)
    if not string match -q -r -- '^(stor:|[^/]+/stor:|~~)' $typed
        test $__cloud_count -gt 0 -a -n "$typed"; or return
        set -l files (__fish_complete_path $typed)
        test (count $files) -eq 0; or return
    end
    __cloud_ask path
end

# The folder of profiles and aliases; without HOME, one that cannot exist.
function __cloud_config
    set -l config /dev/null/.config
    test -n "$HOME"; and set config $HOME/.config
    string match -q '/*' -- "$XDG_CONFIG_HOME"; and set config $XDG_CONFIG_HOME
    set config $config/cloud
    string match -q '/*' -- "$CLOUD_HOME"; and set config $CLOUD_HOME/config
    echo $config
end

function __cloud_profiles
    for file in (__cloud_config)/profiles/*.json
        string replace -r '.*/(.*)\\.json$' '$1' -- $file
    end
end

function __cloud_ask_aliases
    test -e (__cloud_config)/aliases.json; and __cloud_ask alias
end
`;

function quote(text: string): string {
  return `'${text.replaceAll(/['\\]/g, (character) => `\\${character}`)}'`;
}

function complete(condition: string | undefined, ...words: string[]): string {
  return ['complete -c cloud', ...(condition === undefined ? [] : ['-n', quote(condition)]), ...words].join(' ');
}

/** The completions of a value: files (-F), words (-a), or none. */
function printValue(value: ValueWords): string[] {
  const { choices, source } = value;
  const lookUp = findLookUp(value);
  if (choices.length > 0) return ['-a', quote(choices.join(' '))];
  if (source === 'file') return ['-F'];
  if (source === 'directory') return ['-a', quote('(__fish_complete_directories)')];
  if (lookUp === 'file-or-path') return ['-F', '-a', quote('(__cloud_ask_beside_files)')];
  if (lookUp === 'alias') return ['-a', quote('(__cloud_ask_aliases)')];
  if (lookUp !== undefined) return ['-a', quote(`(__cloud_ask ${lookUp})`)];
  return source === 'profile' ? ['-a', quote('(__cloud_profiles)')] : [];
}

/** A value that must follow an option. fish accepts no -F together with -x, which excludes files. */
function printRequired(values: readonly string[]): string[] {
  return [values.includes('-F') ? '-r' : '-x', ...values];
}

function printOption(option: OptionWords, condition: string | undefined): string[] {
  const { short, long, help, value } = option;
  const takes = value === undefined ? [] : printRequired(printValue(value));
  return long.map((name, at) => {
    const letter = at === 0 && short !== undefined ? ['-s', short.slice(1)] : [];
    return complete(condition, ...letter, '-l', name.slice(2), ...takes, '-d', quote(help));
  });
}

/** An option of every place. In places that use its letter or name themselves, it is omitted or has no letter. */
function printShared(option: OptionWords, places: readonly Place[]): string[] {
  const find = (place: Place): OptionWords | undefined => place.shared.find(({ long }) => long[0] === option.long[0]);
  const listPaths = (chosen: readonly Place[]): string => chosen.map(({ path }) => quote(path)).join(' ');
  const other = places.filter((place) => find(place)?.short !== option.short);
  if (other.length === 0) return printOption(option, undefined);
  const without = other.filter((place) => find(place) !== undefined);
  return [
    ...printOption(option, `not __cloud_at ${listPaths(other)}`),
    ...(without.length === 0 ? [] : printOption({ ...option, short: undefined }, `__cloud_at ${listPaths(without)}`)),
  ];
}

function printPlace(place: Place): string[] {
  const { path, commands, own } = place;
  const below = `__cloud_below ${quote(path)}`;
  const aliases = commands.flatMap(({ name, aliases, summary }) => aliases.flatMap((alias) => [name, alias, quote(summary)]));
  return [
    ...commands.map(({ name, summary }) => complete(below, '-a', name, '-d', quote(summary))),
    ...(aliases.length === 0 ? [] : [complete(below, '-a', quote(`(__cloud_aliases ${aliases.join(' ')})`))]),
    ...own.flatMap((option) => printOption(option, `__cloud_at ${quote(path)}`)),
    ...place.arguments.flatMap((value, at) => {
      const offered = printValue(value);
      const last = isLast(place, at) ? 100_000 : at;
      return offered.length === 0 ? [] : [complete(`__cloud_argument ${quote(path)} ${at} ${last}`, ...offered)];
    }),
  ];
}

function printEntries({ path, commands, fallback }: Place): string[] {
  const entries = commands.flatMap(({ name, aliases, target }) => {
    const patterns = [name, ...aliases].map((word) => quote(`${path}/${word}`));
    return [`        case ${patterns.join(' ')}`, `            set __cloud_place ${quote(target)}`];
  });
  if (fallback === undefined) return entries;
  return [...entries, `        case ${quote(`${path}/*`)}`, `            set __cloud_place ${quote(fallback)}`, '            return 1'];
}

function printValued({ path, own }: Place, valued: ReadonlySet<string>): string[] {
  return own.flatMap((option) => {
    const names = option.value ? listNames(option) : listNames(option).filter((name) => valued.has(name));
    if (names.length === 0) return [];
    return [`        case ${names.map((name) => quote(`${path}/${name}`)).join(' ')}`, `            return ${option.value ? 0 : 1}`];
  });
}

function printFunction(comment: string, name: string, subject: string, cases: readonly string[]): string {
  return [
    `# ${comment}`,
    `function ${name}`,
    `    switch ${subject}`,
    ...cases,
    "        case '*'",
    '            return 1',
    '    end',
    '    return 0',
    'end',
    '',
  ].join('\n');
}

/** The completion script for fish, with descriptions. Starts a process only to request values from the program. */
export function printFish({ places, shared }: Words): string {
  const valued = new Set(shared.filter(({ value }) => value).flatMap(listNames));
  return [
    '# Completion of cloud for fish. Install: cloud completion fish | source',
    '',
    // fish counts the lines above a function at each call: the long tables come last.
    engine,
    printFunction('Goes to the command that a word names.', '__cloud_enter', '"$__cloud_place/$argv[1]"', places.flatMap(printEntries)),
    printFunction('Whether option $argv[2] of command $argv[1] takes a value.', '__cloud_valued', '"$argv[1]/$argv[2]"', [
      ...places.flatMap((place) => printValued(place, valued)),
      `        case ${[...valued].map((name) => quote(`*/${name}`)).join(' ')}`,
      '            return 0',
    ]),
    [
      'complete -c cloud -e',
      'complete -c cloud -f',
      ...shared.flatMap((option) => printShared(option, places)),
      ...places.flatMap(printPlace),
      '',
    ].join('\n'),
  ].join('\n');
}
