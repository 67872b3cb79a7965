import { expect, test } from 'vitest';
import { readMediaType } from '../../../src/api/media-type.ts';

test.each([
  ['text/plain', 'text/plain', {}],
  [' Text/HTML ; CharSet=UTF-8 ', 'text/html', { charset: 'UTF-8' }],
  ['application/json;type=directory;', 'application/json', { type: 'directory' }],
  ['application/json; ; type = link', 'application/json', { type: 'link' }],
  ['a/b; x="1; type=directory"; y="\\"2\\\\"', 'a/b', { x: '1; type=directory', y: '"2\\' }],
  ['a/b; x="1; type=directory', 'a/b', { x: '1; type=directory' }],
  ['a/b; type=one; type=two', 'a/b', { type: 'one' }],
  ['a/b; alone; =x; __proto__=p; type=t', 'a/b', { ['__proto__']: 'p', type: 't' }],
  ['', '', {}],
])('the content type %j is %s with the parameters %o', (value, type, parameters) => {
  expect(readMediaType(value)).toEqual({ type, parameters });
});

test('a long malformed content type takes time in proportion to its length', () => {
  for (const unit of [';', '; ', '"', '\\', ';a=', ';a="', ' ']) expect(readMediaType(`a/b;${unit.repeat(20_000)}`).type).toBe('a/b');
});
