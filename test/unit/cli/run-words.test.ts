import { expect, test } from 'vitest';
import { findTouches, haveToWait } from '../../../src/commands/stor/run/touches.ts';
import { splitWords } from '../../../src/commands/stor/run/words.ts';
import type { Context } from '../../../src/cli/command.ts';

test.each([
  ['put a b', ['put', 'a', 'b']],
  [`put 'a b' "c 'd'" e\\ f`, ['put', 'a b', "c 'd'", 'e f']],
  [String.raw`put "a\"b\$c\d" 'e\f'`, ['put', String.raw`a"b$c\d`, String.raw`e\f`]],
  [`put ''  ""\t#x`, ['put', '', '']],
  ['put a#b $HOME *', ['put', 'a#b', '$HOME', '*']],
  ['  # nothing', []],
])('%s has the words that a shell would find', (line, words) => {
  expect(splitWords(line)).toEqual(words);
});

test.each([`put 'a`, 'put "a', 'put a\\', 'put a > b', 'put a; rm b', 'put `a`', 'put $(a)', 'cat a|b'])('%s is refused', (line) => {
  expect(() => splitWords(line)).toThrow(/^(?:a quote is not closed|the line ends with a backslash|"." is shell syntax)/u);
});

const context = { account: 'demo', world: { cwd: '/home/me', home: '/home/me' } } as unknown as Context;

function waits(a: string, b: string): boolean {
  const [first, second] = [a, b].map((line) => {
    const [verb = '', ...rest] = line.split(' ');
    const options = rest.filter((word) => word.startsWith('--')).map((word) => [word.slice(2), true]);
    const words = rest.filter((word) => !word.startsWith('--'));
    return findTouches(context, [verb], { word: words }, Object.fromEntries(options));
  });
  return first !== undefined && second !== undefined && haveToWait(first, second);
}

test.each([
  ['put a x/', 'put b x/', false],
  ['put a x', 'put b x', true],
  ['mkdir x', 'put b x/', true],
  ['put a x/y', 'rm x', true],
  ['put a x/y', 'rm /demo/stor/x/y', true],
  ['put a x/y', 'rm x/z', false],
  ['get x a', 'put a y', true],
  ['get x a', 'get a y', false],
  ['get x a', 'get a/b y', false],
  ['get x a', 'get y a/b', true],
  ['put a x', 'put x a', false],
  ['put a x', 'put a y', false],
  ['put a x', 'get x a', true],
  ['put x1 y1', 'put x11 y11', false],
  ['put ../a x', 'get y ../a', true],
  ['rm /', 'put /etc/a y', true],
  ['stat x', 'cat x', true],
  ['stat x', 'ls x', false],
  ['ls x/*', 'put a x/1', true],
  ['ls w/*', 'put a x/1', false],
  ['cp stor:x/a stor:y/a', 'rm x/a', true],
  ['cp stor:x/a stor:y/a', 'cp stor:x/a stor:y/b', false],
  ['mv x y', 'stat x', true],
  ['snapshot x', 'stat y', true],
  ['put t.tar x/ --untar', 'rm x/y', true],
  ['put a x/ --noTargetDirectory', 'rm x/y', true],
  ['put a x/ --recursive', 'rm x/y', false],
  ['put . x/ --recursive', 'rm x/y', true],
  ['get x y/ --recursive', 'put y/z w', true],
  ['cp stor:x y/ --recursive', 'put y/z w', true],
  ['get a/x --recursive', 'put x/y w', true],
  ['get x y/', 'put y/z w', false],
  ['sync a stor:x/', 'rm x/y', true],
  ['cp stor:a stor:x/', 'rm x/a', true],
  ['cp stor:a stor:x/', 'rm x/b', false],
  ['find x --delete', 'stat x/y', true],
  ['put a x', 'ls', true],
  ['ls', 'put a x', true],
  ['stat ca\\t', 'rm cat', true],
  ['mkdir x/y --parents', 'put a x/b', true],
  ['mkdir x/y --parents', 'put a z/b', false],
  ['mkdir x/y --parents', 'put a b', false],
  ['put a x/b', 'mkdir x/y --parents', false],
  ['put a x/y/b --parents', 'put a x/z/b --parents', false],
])('whether after "%s" the line "%s" has to wait: %s', (a, b, expected) => {
  expect(waits(a, b)).toBe(expected);
});
