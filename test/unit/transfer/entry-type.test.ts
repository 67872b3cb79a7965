import { expect, test } from 'vitest';
import { assertObjectType, isListing } from '../../../src/transfer/entry-type.ts';

test.each([
  ['application/x-json-stream; type=directory', true],
  ['application/x-json-stream;type=directory', true],
  ['Application/X-JSON-Stream ; charset=utf-8; Type="directory"', true],
  ['application/x-json-stream', false],
  ['application/x-json-stream; type=job-error', false],
  ['application/x-json-stream; subtype=directory', false],
  ['application/x-json-stream; x="; type=directory"', false],
  ['application/x-json-streams; type=directory', false],
  ['application/json; type=directory', false],
  ['text/x; subtype=directory', false],
  ['', false],
])('the content type %s is that of a directory: %s', (type, expected) => {
  expect(isListing({ 'content-type': type })).toBe(expected);
});

test.each([
  'application/json; type=directory',
  'application/json;charset=utf-8;TYPE="Directory"',
  'application/json; type=link',
  'application/x-json-stream; type=directory',
  'text/plain; type=directory',
  'text/plain x; type=directory',
  String.raw`text/plain; a="\""; type=directory`,
])('no object can have the content type %s', (type) => {
  expect(() => assertObjectType({ 'content-type': type })).toThrow('is not that of an object');
});

test.each([
  'text/plain',
  'text/plain; type=link',
  'text/x; subtype=directory',
  'application/json; type=directoryx',
  'a/b; xtype=directory',
  'text/plain; a="; type=directory"',
  'application/json; type=',
  'type=directory',
])('an object can have the content type %s', (type) => {
  expect(() => assertObjectType({ 'content-type': type })).not.toThrow();
});
