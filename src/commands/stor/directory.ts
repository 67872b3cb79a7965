import type { Entry } from '../../api/objects.ts';
import { command, type Context } from '../../cli/command.ts';
import { flag, many, one, some } from '../../cli/parameters.ts';
import { createAttempts } from '../../cli/shapes.ts';
import { record, records } from '../../output/kinds.ts';
import { makeFolder } from '../../transfer/folders.ts';
import { decodeValue } from '../../transfer/headers.ts';
import { inspect, type Inspected } from '../../transfer/inspect.ts';
import { listEntries } from '../../transfer/list.ts';
import { baseName, printRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { explainParent, missing, readPaths } from './paths.ts';

/** What an object's headers say, under the names that listings use. */
function describe(path: RemotePath, { type, headers }: Inspected): Record<string, unknown> {
  const modified = Date.parse(headers['last-modified'] ?? '');
  const custom = Object.entries(headers).filter(
    ([name]) => name.startsWith('m-') || name.startsWith('access-control-') || name === 'cache-control' || name === 'role-tag',
  );
  const whole =
    type === 'object'
      ? { size: Number(headers['content-length'] ?? 0), etag: headers['etag'] }
      : { entries: Number(headers['result-set-size'] ?? 0) };
  return {
    name: baseName(path),
    path: printRemotePath(path),
    type,
    ...whole,
    mtime: Number.isNaN(modified) ? undefined : new Date(modified).toISOString(),
    contentType: headers['content-type'],
    contentMD5: headers['content-md5'],
    durability: headers['durability-level'] === undefined ? undefined : Number(headers['durability-level']),
    ...Object.fromEntries(custom.map(([name, value]) => [name, decodeValue(value)])),
  };
}

type Order = (a: Entry, b: Entry) => number;

function chooseOrder(options: { time: boolean; size: boolean; reverse: boolean }): Order | undefined {
  const byTime: Order = (a, b) => b.mtime.localeCompare(a.mtime);
  const bySize: Order = (a, b) => (b.size ?? 0) - (a.size ?? 0);
  const byName: Order = (a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
  const order = options.time ? byTime : options.size ? bySize : byName;
  if (options.reverse) return (a, b) => order(b, a);
  return options.time || options.size ? order : undefined;
}

/** The entries of a directory, or the object itself. */
async function* listPath({ storage }: Context, path: RemotePath, order: Order | undefined): AsyncGenerator<object> {
  const found = path.path === '' ? undefined : await inspect(storage, path);
  if (path.path !== '' && found === undefined) throw missing(path);
  if (found?.type === 'object') {
    yield describe(path, found);
    return;
  }
  const entries = listEntries(storage, path);
  if (order === undefined) {
    yield* entries;
    return;
  }
  const all = [];
  for await (const entry of entries) all.push(entry);
  yield* all.toSorted(order);
}

export const list = command({
  summary: 'List directories',
  aliases: ['list'],
  arguments: { path: some('Directory or object; your stor directory when absent', { values: 'path' }) },
  options: {
    time: flag('Newest first', { short: 't' }),
    size: flag('Largest first', { short: 'S' }),
    reverse: flag('The other way round', { short: 'r' }),
  },
  run: async (invocation) => {
    const { args, options } = invocation;
    const paths = await readPaths(invocation, args.path.length === 0 ? [''] : args.path);
    const attempts = createAttempts(invocation, paths.length);
    async function* rows(): AsyncGenerator<object> {
      for (const path of paths) {
        const iterator = listPath(invocation, path, chooseOrder(options));
        // The first row is asked for inside the attempt: a path that fails does not end the listing of the others.
        const [first] = await attempts.each([path], () => iterator.next());
        if (first === undefined || first.done === true) continue;
        const add = (row: object): object => (paths.length > 1 ? { directory: printRemotePath(path), ...row } : row);
        yield add(first.value);
        for await (const row of iterator) yield add(row);
      }
      attempts.finish();
    }
    return records(rows(), {
      columns: [
        ...(paths.length > 1 ? ['directory'] : []),
        'type',
        { key: 'size', as: 'size' as const },
        { key: 'mtime', as: 'time' as const },
        { key: 'contentType', long: true },
        { key: 'durability', long: true },
        { key: 'etag', long: true },
        'name',
      ],
      id: 'name',
      fields: ['contentMD5'],
    });
  },
  examples: [
    { line: 'cloud stor ls logs', help: 'What is in a directory' },
    { line: 'cloud stor ls logs -S -o name', help: 'Names only, the largest first' },
  ],
});

export const stat = command({
  summary: 'Show what a path names, and its headers',
  aliases: ['show'],
  arguments: { path: one('Directory or object', { values: 'path' }) },
  run: async ({ args, storage, account }) => {
    const path = readRemotePath(args.path, account);
    const found = await inspect(storage, path);
    if (found === undefined) throw missing(path);
    return record(describe(path, found), { id: 'path' });
  },
  examples: [
    { line: 'cloud stor stat logs/a.gz', help: 'Size, type, MD5, etag and own headers' },
    { line: 'cloud stor stat logs/a.gz -j --columns etag', help: 'One field as JSON' },
  ],
});

export const makeDirectory = command({
  summary: 'Make directories',
  arguments: { path: many('Directory to make', { values: 'path' }) },
  options: { parents: flag('Make the directories above too', { short: 'p' }) },
  run: async (invocation) => {
    const { args, options, account, note, storage } = invocation;
    const attempts = createAttempts(invocation, args.path.length);
    await attempts.each(args.path, async (text) => {
      const path = readRemotePath(text, account);
      const made = await explainParent(() => makeFolder(storage, path, { parents: options.parents }), 'cloud stor mkdir -p');
      note(made ? `Made ${printRemotePath(path)}` : `${printRemotePath(path)} exists already`);
    });
    attempts.finish();
    return undefined;
  },
  examples: [
    { line: 'cloud stor mkdir logs', help: 'One directory' },
    { line: 'cloud stor mkdir -p photos/2024/spain', help: 'With those above' },
  ],
});
