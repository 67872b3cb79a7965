import type { Entry } from '../../api/objects.ts';
import { mapEach } from '../../base/iterate.ts';
import { compareNames } from '../../base/order.ts';
import { command, type Context } from '../../cli/command.ts';
import { flag, many, some } from '../../cli/parameters.ts';
import { createAttempts } from '../../cli/attempts.ts';
import { record, records, texts, type Row } from '../../output/kinds.ts';
import { makeFolder } from '../../transfer/tree/folders.ts';
import { decodeValue } from '../../transfer/tree/headers.ts';
import type { Inspected } from '../../transfer/inspect.ts';
import { listEntries } from '../../transfer/tree/list.ts';
import { baseName, joinPath, printRemotePath, quoteRemotePath, readTargetPath, type RemotePath } from '../../transfer/path.ts';
import { listOption, readingNames, readNames } from './names.ts';
import { explainParent, inspectRoot, requireThere } from './paths.ts';
import { showRows } from '../../cli/rows.ts';

/** `-h` as in the Unix commands of the same names; only with `-l` sizes are in bytes without it. */
export const humanOption = flag('Show sizes with units, also with -l', { short: 'h' });

/** Additional fields of `stat` that an object may have. */
const headFields = ['name', 'entries', 'etag', 'contentType', 'contentMD5', 'durability', 'role-tag'];

/** Properties of an object or directory from its headers, with the field names of listings. */
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
  const byName: Order = (a, b) => compareNames(a.name, b.name);
  const order = options.time ? byTime : options.size ? bySize : byName;
  if (options.reverse) return (a, b) => order(b, a);
  return options.time || options.size ? order : undefined;
}

/** The entries of a directory, or the object itself. */
async function* listPath({ storage }: Context, path: RemotePath, order: Order | undefined): AsyncGenerator<object> {
  const found = await inspectRoot(storage, path);
  if (found.type === 'object') {
    yield describe(path, found);
    return;
  }
  const show = (entry: Entry): object => ({ ...entry, path: printRemotePath(joinPath(path, entry.name)) });
  const entries = listEntries(storage, path);
  if (order === undefined) {
    for await (const entry of entries) yield show(entry);
    return;
  }
  const all = [];
  for await (const entry of entries) all.push(entry);
  yield* all.toSorted(order).map(show);
}

/** Prints unquoted names or paths, NUL-terminated. */
function printNames(rows: AsyncIterable<object>, field: 'name' | 'path'): AsyncGenerator<string> {
  return mapEach(rows as AsyncIterable<{ name: string; path: string }>, (row) => `${row[field]}\0`);
}

export const list = command({
  summary: 'List directories',
  aliases: ['list'],
  arguments: { path: some('Directory or object; default your stor directory', { values: 'path' }) },
  options: {
    time: flag('Sort by time, newest first', { short: 't' }),
    size: flag('Sort by size, largest first', { short: 'S' }),
    reverse: flag('Reverse the order', { short: 'r' }),
    human: humanOption,
    print0: flag('Print only names, or paths for several directories, each terminated by NUL', { short: '0' }),
    ...readingNames,
    ...listOption,
  },
  run: async (invocation) => {
    const { args, options } = invocation;
    const words = args.path.length === 0 && options.pathsFrom === undefined ? [''] : args.path;
    const { paths, isMatch } = await readNames(invocation, words, options);
    // A name alone is unambiguous only for one directory that was given literally.
    const id = isMatch || paths.length > 1 || options.pathsFrom !== undefined ? 'path' : 'name';
    const attempts = createAttempts(invocation, paths.length);
    async function* rows(): AsyncGenerator<object> {
      for (const path of paths) {
        const iterator = listPath(invocation, path, chooseOrder(options));
        // The first row is requested inside the attempt, so that a failing path does not end the listing of the others.
        const [first] = await attempts.each([path], () => iterator.next());
        if (first === undefined || first.done === true) continue;
        const add = (row: object): object => (paths.length > 1 ? { directory: printRemotePath(path), ...row } : row);
        yield add(first.value);
        for await (const row of iterator) yield add(row);
      }
      attempts.finish();
    }
    if (options.print0) return texts(printNames(rows(), id));
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
      id,
      humanSizes: options.human,
      fields: ['path', 'contentMD5'],
    });
  },
  examples: [
    { line: 'cloud stor ls logs', help: 'List a directory' },
    { line: 'cloud stor ls logs -S -o name', help: 'Only names, largest first' },
    { line: 'cloud stor ls logs -0 | xargs -0 -n 1 echo', help: 'For names that may contain newlines' },
  ],
});

export const stat = command({
  summary: 'Show the properties and headers of objects and directories',
  aliases: ['show'],
  arguments: { path: some('Directory or object', { values: 'path' }) },
  options: { ...readingNames, ...listOption },
  run: async (invocation) => {
    const { args, options, storage } = invocation;
    const { paths, isMatch } = await readNames(invocation, args.path, options);
    const ask = async (path: RemotePath): Promise<object> => describe(path, await requireThere(storage, path));
    const [first] = paths;
    if (first !== undefined && paths.length === 1 && !isMatch && options.pathsFrom === undefined) {
      return record(await ask(first), { id: 'path' });
    }
    const attempts = createAttempts(invocation, paths.length);
    return records(attempts.rows(paths, ask), {
      columns: ['type', { key: 'size', as: 'size' }, { key: 'mtime', as: 'time' }, 'path'],
      id: 'path',
      fields: headFields,
    });
  },
  examples: [
    { line: 'cloud stor stat logs/a.gz', help: 'Size, type, MD5, etag and custom headers' },
    { line: 'cloud stor stat logs/a.gz -j --columns etag', help: 'One field as JSON' },
  ],
});

export const makeDirectory = command({
  summary: 'Create directories',
  arguments: { path: many('Directory to create', { values: 'path' }) },
  options: { parents: flag('Also create missing parent directories', { short: 'p' }) },
  run: async (invocation) => {
    const { args, options, account, note, storage } = invocation;
    const attempts = createAttempts(invocation, args.path.length);
    const rows = attempts.rows(args.path, async (word): Promise<Row> => {
      const path = readTargetPath(word, account);
      const made = await explainParent(
        () => makeFolder(storage, path, { parents: options.parents }),
        `cloud stor mkdir -p ${quoteRemotePath(path)}`,
      );
      note(made ? `Created ${printRemotePath(path)}` : `${printRemotePath(path)} already exists`);
      return { path: printRemotePath(path), made };
    });
    return await showRows(invocation, rows, { columns: ['made', 'path'], id: 'path' });
  },
  examples: [
    { line: 'cloud stor mkdir logs', help: 'One directory' },
    { line: 'cloud stor mkdir -p photos/2024/spain', help: 'With missing parents' },
  ],
});
