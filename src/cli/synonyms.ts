/** Commands of other tools, with the command line to type here. Keys may include the words of the command line before them. */
const lines: Readonly<Record<string, string>> = {
  login: 'cloud profile create NAME',
  logout: 'cloud profile delete NAME',
  init: 'cloud profile create NAME',
  config: 'cloud profile list',
  context: 'cloud profile list',
  whoami: 'cloud account get',
  ls: 'cloud stor ls',
  cp: 'cloud stor cp SOURCE TARGET',
  sync: 'cloud stor sync SOURCE TARGET',
  upload: 'cloud stor put FILE TARGET',
  download: 'cloud stor get PATH TARGET',
  start: 'cloud local start',
  stop: 'cloud local stop',
  status: 'cloud local status',
  'stor upload': 'cloud stor put FILE TARGET',
  'stor download': 'cloud stor get PATH TARGET',
  'stor remove': 'cloud stor rm PATH',
  'stor del': 'cloud stor rm PATH',
  'stor rb': 'cloud stor rm -r PATH',
  'stor rmdir': 'cloud stor rm PATH',
  'stor mb': 'cloud stor mkdir PATH',
  'stor copy': 'cloud stor cp SOURCE TARGET',
  'stor move': 'cloud stor mv SOURCE TARGET',
  'stor rename': 'cloud stor mv SOURCE TARGET',
  'stor list': 'cloud stor ls PATH',
  'stor head': 'cloud stor stat PATH',
  'stor info': 'cloud stor stat PATH',
  'stor exists': 'cloud stor stat PATH',
  'stor size': 'cloud stor du PATH',
  'stor presign': 'cloud stor sign PATH',
  'stor url': 'cloud stor sign PATH',
  'stor link': 'cloud stor ln SOURCE TARGET',
  'stor acl': 'cloud stor roles get PATH',
  'jobs logs': 'cloud jobs errors --stderr ID',
  'jobs status': 'cloud jobs get ID',
  'jobs submit': 'cloud jobs create',
};

/** Verbs of other tools, by the verb that is used here. */
const verbs: Readonly<Record<string, readonly string[]>> = {
  list: ['ls', 'all'],
  get: ['show', 'describe', 'info', 'view', 'inspect'],
  create: ['new', 'add', 'make', 'register'],
  delete: ['remove', 'rm', 'del', 'destroy'],
  update: ['modify', 'set', 'change', 'patch', 'rename'],
  use: ['switch', 'select', 'activate'],
};

/** Replaces the words in capitals of a line by the typed words, in order; appends those that are left over. */
function fillIn(line: string, typed: readonly string[]): string {
  const left = [...typed];
  const words = line.split(' ').map((word) => (/^[A-Z]+$/.test(word) ? (left.shift() ?? word) : word));
  return [...words, ...left].join(' ');
}

/**
 * The command line for a word of another tool; undefined if unknown.
 * @param rest the words after it, quoted for a shell
 */
export function findSynonym(
  path: readonly string[],
  word: string,
  names: readonly string[],
  rest: readonly string[] = [],
): string | undefined {
  const known = [...path, word.toLowerCase()].join(' ');
  if (Object.hasOwn(lines, known)) return fillIn(lines[known] ?? '', rest);
  const verb = names.find((name) => verbs[name]?.includes(word.toLowerCase()) === true);
  return verb === undefined ? undefined : ['cloud', ...path, verb, ...rest].join(' ');
}

/** Options of Unix programs, by the command of the same name that does it differently, with what to type. */
const letters: Readonly<Record<string, string>> = {
  'cloud stor ls -1': 'one name a line: cloud stor ls -o name',
  'cloud stor ls -a': 'names that begin with a dot are always listed: cloud stor ls',
  'cloud stor ls -R': 'everything below a directory: cloud stor tree',
  'cloud stor du -a': 'objects one by one: cloud stor find --type object -l',
  'cloud stor du -b': 'sizes in bytes: cloud stor du -j',
  'cloud stor du -s': 'only the total: cloud stor du -d 0',
};

/**
 * The replacement for an option that the Unix program of the same name has, such as `-s` of `du`.
 * @param line the words of the command
 * @param word a dash and one or more letters, the first of which is unknown
 */
export function findLetter(line: string, word: string): string | undefined {
  return word.startsWith('--') ? undefined : letters[`${line} ${word.slice(0, 2)}`];
}
