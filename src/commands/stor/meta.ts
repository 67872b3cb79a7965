import type { Headers } from '../../api/message.ts';
import { isStoredHeader } from '../../api/stored-headers.ts';
import { command, group, type Context } from '../../cli/command.ts';
import { many, one, some, text, texts } from '../../cli/parameters.ts';
import { NotFoundError, UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { record, type Output } from '../../output/kinds.ts';
import { assertObjectType } from '../../transfer/entry-type.ts';
import { decodeStored } from '../../transfer/tree/headers.ts';
import { changeMetadata, type Metadata } from '../../transfer/tree/metadata.ts';
import { printRemotePath, quoteRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { readMeta, readStored } from './headers.ts';
import { missing, requireThere } from './paths.ts';

async function readHeaders({ storage }: Context, path: RemotePath): Promise<Headers> {
  const found = await requireThere(storage, path);
  return decodeStored(found.headers);
}

/** Shows header names unchanged: they are data. */
function show(headers: Headers, id = 'content-type'): Output {
  return record(headers, { id, columns: Object.keys(headers).map((key) => ({ key, title: key })) });
}

/** `key` and `m-key` mean the header `m-key`; names of other stored headers are unchanged. */
function nameHeader(word: string): string {
  const name = word.toLowerCase();
  return isStoredHeader(name) ? name : `m-${name}`;
}

const getMeta = command({
  summary: 'Show the stored headers of an object or directory',
  aliases: ['show', 'list'],
  arguments: { path: one('Object or directory', { values: 'path' }), key: some('Only these headers; KEY means m-KEY') },
  run: async (invocation) => {
    const { args, account } = invocation;
    const path = readRemotePath(args.path, account);
    const headers = await readHeaders(invocation, path);
    if (args.key.length === 0) return show(headers);
    const names = args.key.map(nameHeader);
    const absent = names.find((name) => headers[name] === undefined);
    if (absent !== undefined) {
      throw new NotFoundError(`${printRemotePath(path)} has no header ${absent}`, {
        hint: `to list its headers: cloud stor meta get ${quoteRemotePath(path)}`,
      });
    }
    const picked = Object.fromEntries(names.map((name) => [name, headers[name] ?? '']));
    return show(picked, names[0]);
  },
  examples: [
    { line: 'cloud stor meta get notes.txt', help: 'All headers' },
    { line: 'cloud stor meta get notes.txt content-type -o name', help: 'The value of one header' },
  ],
});

const changeOptions = {
  type: text('Content type', { placeholder: 'TYPE' }),
  header: texts('Any other header that the service stores', { placeholder: 'NAME:VALUE' }),
};

/** `content-type=TYPE` sets that header, as with `meta get` and `unset`; any other `KEY=VALUE` sets `m-KEY`. */
function readPair(given: string): [string, string] {
  const [name, value] = readMeta(given);
  const bare = name.slice('m-'.length);
  return [isStoredHeader(bare) ? bare : name, value];
}

/** The headers given on the command line. */
function readChanges(pairs: readonly string[], { type, header }: { type: string | undefined; header: readonly string[] }): Headers {
  const changes = {
    ...Object.fromEntries(header.map((each) => readStored(each))),
    ...Object.fromEntries(pairs.map(readPair)),
    ...(type !== undefined && { 'content-type': type }),
  };
  assertObjectType(changes);
  return changes;
}

async function change(context: Context, word: string, merge: (headers: Headers) => Headers): Promise<Output> {
  const path = readRemotePath(word, context.account);
  const change = (current: Headers): Metadata => ({ headers: merge(decodeStored(current)) });
  const changed = await changeMetadata(context.storage, path, change, context.world.interrupted);
  if (!changed) throw missing(path);
  context.note(`Changed the headers of ${printRemotePath(path)}`);
  return show(changed.headers);
}

const setMeta = command({
  summary: 'Set headers and keep the others',
  description: 'Concurrent changes are not lost: if the headers have changed meanwhile, they are read again.',
  arguments: { path: one('Object or directory', { values: 'path' }), pair: some('KEY=VALUE, stored as m-KEY') },
  options: changeOptions,
  run: async (invocation) => {
    const { args, options } = invocation;
    const changes = readChanges(args.pair, options);
    if (Object.keys(changes).length === 0)
      throw new UsageError('nothing to set: give KEY=VALUE', {
        hint: `cloud stor meta set ${quoteShell(args.path)} KEY=VALUE`,
      });
    return await change(invocation, args.path, (headers) => ({ ...headers, ...changes }));
  },
  examples: [
    { line: 'cloud stor meta set notes.txt author=ann topic="all sorts"', help: 'Set custom headers' },
    { line: 'cloud stor meta set notes.txt --type text/markdown', help: 'Change the content type' },
  ],
});

const unsetMeta = command({
  summary: 'Remove headers and keep the others',
  arguments: { path: one('Object or directory', { values: 'path' }), key: many('Header; KEY means m-KEY') },
  run: async (invocation) => {
    const unwanted = new Set(invocation.args.key.map(nameHeader));
    if (unwanted.has('content-type'))
      throw new UsageError('the content type cannot be removed', { hint: 'to change it: cloud stor meta set PATH --type TYPE' });
    return await change(invocation, invocation.args.path, (headers) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => !unwanted.has(name))),
    );
  },
  examples: [
    { line: 'cloud stor meta unset notes.txt author', help: 'One' },
    { line: 'cloud stor meta unset notes.txt author topic', help: 'Several' },
  ],
});

const replaceMeta = command({
  summary: 'Replace all headers',
  description: 'The content type is kept unless --type is given.',
  arguments: { path: one('Object or directory', { values: 'path' }), pair: some('KEY=VALUE, stored as m-KEY') },
  options: changeOptions,
  run: async (invocation) => {
    const changes = readChanges(invocation.args.pair, invocation.options);
    return await change(invocation, invocation.args.path, ({ 'content-type': type }) => ({
      ...(type !== undefined && { 'content-type': type }),
      ...changes,
    }));
  },
  examples: [
    { line: 'cloud stor meta replace notes.txt author=ann', help: 'Keep only this header' },
    { line: 'cloud stor meta replace notes.txt', help: 'Remove all custom headers' },
  ],
});

export const meta = group({
  summary: 'Stored headers of objects and directories',
  commands: { get: getMeta, set: setMeta, unset: unsetMeta, replace: replaceMeta },
});
