import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { prepareLine } from '../../src/commands/stor/exec-line.ts';
import { useLocal } from '../support/sandbox.ts';

/** `stor find --exec` gives a path to a command as an argument: no name is ever a part of what a shell reads. */

const user = useLocal('--http');

const hostile = [
  '$(touch pwned)',
  '`touch pwned`',
  "'; touch pwned; '",
  '"; touch pwned; "',
  '; touch pwned',
  '| touch pwned',
  '&& touch pwned',
  '& touch pwned &',
  '\ntouch pwned\n#',
  '> pwned',
  '$IFS',
  '${x:=$(touch pwned)}',
  'a[$(touch pwned)]',
  '\\$(touch pwned)',
  '"$(touch pwned)"',
  '\'"$(touch pwned)"\'',
  '*',
  '~',
  '-rf',
  '{}',
  '{} $(touch pwned)',
  '$1',
  '!!',
  '#',
  'two  blanks ',
  '%s%n',
];

/** Lines that print the path, and nothing but it, in every form that is taken. */
const taken = [
  'printf "%s\\n" {}',
  "printf '%s\\n' {}",
  'printf "%s\\n" "$1"',
  'printf "%s\\n" "$CLOUD_PATH"',
  'printf %s\\\\n {}',
  '{ printf "%s\\n" {} ; }',
  '(printf "%s\\n" {})',
  'x=1; printf "%s\\n" {};',
  'for each in {} ; do printf "%s\\n" "$each"; done',
  'case {} in *) printf "%s\\n" {} ;; esac',
  'printf "%s\\n" "$(printf %s "$1")"',
  'true && printf "%s\\n" {}',
  'false || printf "%s\\n" {} | cat',
  `sh -c 'printf "%s\\n" "$1"' sh "$1"`,
];

const refused: readonly [line: string, hint: string][] = [
  ['echo "{}"', `--exec 'echo "$1"'`],
  ["echo '{}'", `--exec 'echo "$1"'`],
  ['echo "got {}!"', `--exec 'echo "got $1!"'`],
  ["echo 'got {}'", `'echo '\\''got '\\''"$1"'\\'''\\'''`],
  ['cp {} {}.bak', `--exec 'cp "$1" "$1".bak'`],
  ['ls --in={}', `--exec 'ls --in="$1"'`],
  ['echo \\{}', 'the path is "$1"'],
  ['echo "$(cat {})"', 'the path is "$1"'],
  ['sh -c "cat {}"', '$CLOUD_PATH'],
  ['sh -c {}', '$CLOUD_PATH'],
  ['bash -ec "cat {}"', '$CLOUD_PATH'],
  ['eval echo {}', '$CLOUD_PATH'],
  ['echo $(( {} ))', '$CLOUD_PATH'],
  ['cat <<E\n {} \nE', '$CLOUD_PATH'],
];

/** The shells of this machine that may stand behind /bin/sh. */
const shells = [['/bin/sh'], ['bash'], ['bash', '--posix'], ['zsh', '--emulate', 'sh']];

beforeAll(async () => {
  await user.cloud(['stor', 'mkdir', 'names', '-q']);
  user.write('f', 'content');
  for (const name of hostile) await user.cloud(['stor', 'put', '-q', '--', 'f', `names/${name}`]);
});

test('hostile names are harmless in every form, and come whole', async () => {
  const lines = (text: string): string[] => text.split('\n').toSorted();
  for (const line of taken) {
    const { code, stdout, stderr } = await user.cloud(['stor', 'find', 'names', '--type', 'f', '--exec', line]);
    const expected = hostile.map((name) => `/demo/stor/names/${name}\n`).join('');
    expect([line, code, stderr, lines(stdout)]).toEqual([line, 0, '', lines(expected)]);
    expect([line, existsSync(join(user.home, 'pwned'))]).toEqual([line, false]);
  }
  expect(readdirSync(user.home).toSorted()).toEqual(expect.arrayContaining(['bin', 'f']));
});

test.each(refused)('%s is refused with the line to type', async (line, hint) => {
  const { code, stdout, stderr } = await user.cloud(['stor', 'find', 'names', '--exec', line]);
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(hint)]);
  expect(stderr).toContain('{}');
  expect(existsSync(join(user.home, 'pwned'))).toBe(false);
});

test('the lines that hints tell to type are harmless', async () => {
  for (const [line] of refused) {
    const { stderr } = await user.cloud(['stor', 'find', 'names', '--exec', line]);
    const typed = /--exec (.*)$/.exec(stderr.split('\n').find((each) => each.startsWith('hint:')) ?? '')?.[1];
    if (typed === undefined || line.includes('E\n')) continue;
    await user.shell(`cloud stor find names --type f --exec ${typed.replace(/; it is in .*/, '')} > told 2>&1`);
    expect([line, existsSync(join(user.home, 'pwned'))]).toEqual([line, false]);
  }
});

test.each(shells)('%s runs prepared lines as they are meant', (...shell) => {
  const [program = '', ...words] = shell;
  const path = '/demo/stor/$(touch pwned) `touch pwned` "\';touch pwned;\n*';
  for (const line of taken.filter((each) => !each.includes('CLOUD_PATH'))) {
    const told = execFileSync(program, [...words, '-c', prepareLine(line), 'sh', path], { cwd: user.home, encoding: 'utf8' });
    expect([line, told]).toEqual([line, `${path}\n`]);
  }
  expect(existsSync(join(user.home, 'pwned'))).toBe(false);
});
