import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { commands } from '../cli/tree.ts';

const root = resolve(import.meta.dirname, '../../..');
const page = readFileSync(join(root, '.github', 'SECURITY.md'), 'utf8');

/** Every promise with the file and the title of its test. */
const promises = [...page.matchAll(/^\| (.+) \| `(test\/[^`]+)`: (.+) \|$/gmu)].map(([, promise = '', file = '', title = '']) => ({
  promise,
  file,
  title,
}));

test('every promise on the security page has the test that it names', () => {
  const rows =
    page
      .split('## Each promise')[1]
      ?.split('## Dependencies')[0]
      ?.match(/^\| (?!promise|---)/gmu) ?? [];
  expect(promises.length).toBeGreaterThan(25);
  expect(promises).toHaveLength(rows.length);
  const wrong = promises.filter(({ file, title }) => {
    const source = readFileSync(join(root, file), 'utf8');
    // The title as the source has it; what a count stands for there is written as its place.
    return ![`'${title}'`, `"${title}"`, `\`${title.replace('%i', '${wanted}')}`].some((quoted) => source.includes(quoted));
  });
  expect(wrong).toEqual([]);
});

test('no option takes a secret as its value', () => {
  const secret = /pass(?:word|phrase)|secret|token|private/iu;
  const taking = commands.flatMap(([path, { options }]) =>
    Object.entries(options)
      .filter(([name, { kind, values }]) => secret.test(name) && kind !== 'flag' && values !== 'file')
      .map(([name]) => `${path} ${name}`),
  );
  expect(taking).toEqual([]);
});

test('nothing compares signatures or shared secrets letter by letter', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('.ts'));
  const wrong = files.filter((file) => {
    const text = readFileSync(join(root, 'src', file), 'utf8');
    return [...text.matchAll(/\b(?:signature|secret|digest)\b\s*(?:===|!==)\s*(?!undefined|''|null)(\S+)/giu)].length > 0;
  });
  expect(wrong).toEqual([]);
  expect(readFileSync(join(root, 'src/server/peers/peers.ts'), 'utf8')).toContain('timingSafeEqual(');
  expect(readFileSync(join(root, 'src/auth/verify.ts'), 'utf8')).toContain('return verify(');
});

interface Locked {
  dev?: boolean;
  hasInstallScript?: boolean;
}

test('the page counts the dependencies as they are locked', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, Locked> };
  const locked = Object.entries(packages)
    .filter(([name]) => name !== '')
    .map(([, each]) => each);
  const countOf = (row: string): number => Number(new RegExp(`^\\| ${row}[^|]* \\| (\\d+) \\|$`, 'mu').exec(page)?.[1]);
  expect(countOf('packages in the lock file')).toBe(locked.length);
  expect(countOf('of them installed by users')).toBe(locked.filter(({ dev }) => dev !== true).length);
  expect(countOf('with an install script')).toBe(locked.filter(({ hasInstallScript }) => hasInstallScript === true).length);
});
