import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { createRandom } from '../support/random.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale, seed } from '../support/scale.ts';

/**
 * Scripts that list objects and then remove what they listed, twice, over random sets of hostile names. Each listed name has bystanders
 * that it would match as a pattern, or that it becomes when something reads its backslashes, quotes, blanks or dashes.
 */

const user = useLocal('--http', '--empty');
/** Picks from a list. */
type Pick = <T>(all: readonly [T, ...T[]]) => T;

function createPick(start: number): { pick: Pick; below: (limit: number) => number } {
  const random = createRandom(start);
  const below = (limit: number): number => Math.floor(random() * limit);
  return { below, pick: (all) => all[below(all.length)] ?? all[0] };
}

type Random = ReturnType<typeof createPick>;

/** Sets for scripts that start one process for many names, and for those that start one for each. */
const sets = { many: 300, each: scale(4, 300) };

const alphabet: readonly [string, ...string[]] = [
  'a',
  'b',
  '1',
  '[',
  ']',
  '[a1]',
  '[!b]',
  '*',
  '**',
  '?',
  '{',
  '}',
  '{a,b}',
  ',',
  '\\',
  '"',
  "'",
  ' ',
  '-',
  '$',
  '`',
  '!',
  '~',
  ';',
  '%2A',
];

function invent(random: Random): string {
  const start = random.pick(['', '', '-', '--', ' ', '"', "'", '~', '*', '[']);
  const middle = Array.from({ length: 1 + random.below(6) }, () => random.pick(alphabet)).join('');
  return start + middle + random.pick(['', '', ' ', '.log', '*', '\\']);
}

/** Names that something could take for a name by mistake. */
function mistake(random: Random, name: string): string[] {
  const other = random.pick(['a', 'b', '1', 'ab', 'x']);
  return [
    name.replaceAll('*', other),
    name.replaceAll('?', 'a'),
    name.replaceAll(/\[[^\]]*\]/g, random.pick(['a', '1'])),
    name.replaceAll(/\{([^,}]*),[^}]*\}/g, '$1'),
    name.replaceAll(/\\(.)/g, '$1'),
    name.replaceAll(/['"]/g, ''),
    name.replaceAll(/[*?]/g, other).replaceAll(/\[[^\]]*\]/g, 'a'),
    name.trim(),
    name.replace(/^-+/, ''),
  ];
}

interface NameSet {
  readonly listed: string[];
  readonly bystanders: string[];
}

function inventSet(random: Random): NameSet {
  const listed = [...new Set(Array.from({ length: 2 }, () => invent(random)))];
  const bystanders = [...new Set(listed.flatMap((name) => mistake(random, name)))];
  const isName = (name: string): boolean => name !== '' && name !== '.' && name !== '..';
  return { listed, bystanders: bystanders.filter((name) => isName(name) && !listed.includes(name)) };
}

/** What a script is to remove has 100 bytes, everything else two. */
const marked = 'x'.repeat(100);

async function lay(form: string, all: readonly NameSet[]): Promise<void> {
  const folder = join(user.home, form);
  for (const [at, { listed, bystanders }] of all.entries()) {
    mkdirSync(join(folder, String(at)), { recursive: true });
    for (const name of listed) writeFileSync(join(folder, String(at), name), marked);
    for (const name of bystanders) writeFileSync(join(folder, String(at), name), '..');
  }
  expect(await user.cloud(['stor', 'put', '-rq', form, form])).toMatchObject({ code: 0 });
  rmSync(folder, { recursive: true });
}

async function listPaths(form: string): Promise<string[]> {
  const { stdout } = await user.cloud(['stor', 'find', form, '--type', 'object', '-0']);
  return stdout
    .split('\0')
    .filter((path) => path !== '')
    .toSorted();
}

const find = (form: string): string => `cloud stor find ${form} --type object --size +50`;

/** A script in bash for each form; the list is taken once, and acted on twice. */
const forms: Readonly<Record<string, { script: string; sets: number }>> = {
  xargs: { sets: sets.many, script: `${find('xargs')} -0 > list; for turn in 1 2; do xargs -0 cloud stor rm -yq < list; done` },
  'paths-from': { sets: sets.many, script: `${find('paths-from')} > list; for turn in 1 2; do cloud stor rm -yq --paths-from list; done` },
  workers: {
    sets: sets.many,
    script: `${find('workers')} > list; tr '\\n' '\\0' < list | sort -zr > other
      for turn in 1 2; do cloud stor rm -yq --paths-from list & cloud stor rm -yq --paths-from other & wait; done`,
  },
  read: {
    sets: sets.each,
    script: `${find('read')} -0 > list; for turn in 1 2; do while IFS= read -r -d '' path; do cloud stor rm -yq "$path" < /dev/null; done < list; done`,
  },
  exec: { sets: sets.each, script: `for turn in 1 2; do ${find('exec')} --exec 'cloud stor rm -yq {} && cloud stor rm -yqf "$1"'; done` },
};

test.each(Object.entries(forms))(
  'a script that lists and then removes, by %s, touches nothing that it did not list',
  { timeout: scale(300_000, 900_000) },
  async (form, { script, sets: count }) => {
    const random = createPick(seed);
    const all = Array.from({ length: count }, () => inventSet(random));
    await lay(form, all);
    const wanted = all.flatMap(({ bystanders }, at) => bystanders.map((name) => `/demo/stor/${form}/${at}/${name}`)).toSorted();
    const before = await listPaths(form);
    expect(before.length - wanted.length).toBe(all.reduce((sum, { listed }) => sum + listed.length, 0));
    await user.shell(script);
    expect(await listPaths(form)).toEqual(wanted);
    report('proof', {
      name: `list-then-remove by ${form}: sets of names, seed ${seed}`,
      ours: String(count),
      promise: 'nothing else touched',
    });
  },
);
