import { createReadStream, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ByteStream, Headers } from '../../api/message.ts';
import { command, type Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { flag, many, number, size, text, texts } from '../../cli/parameters.ts';
import { createAttempts } from '../../cli/shapes.ts';
import { ApiError, describeSystemError, isSystemError, UsageError } from '../../errors.ts';
import { bytes, records } from '../../output/kinds.ts';
import { downloadObject, writeFileWhole } from '../../transfer/download.ts';
import { inspect } from '../../transfer/inspect.ts';
import { baseName, joinPath, parentOf, printRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { uploadObject, type PutOptions, type Source } from '../../transfer/upload.ts';
import { explainParent, makeDirectories } from './directory.ts';

/** Bytes read from a file at once. */
const pieceSize = 256 * 1024;

async function* concatenate(context: Context, paths: readonly RemotePath[]): AsyncGenerator<Uint8Array> {
  for (const path of paths) yield* downloadObject(context.storage, path);
}

export const cat = command({
  summary: 'Write objects to stdout, one after the other',
  arguments: { path: many('Object', { values: 'path' }) },
  run: async (invocation) =>
    bytes(
      concatenate(
        invocation,
        invocation.args.path.map((text) => readRemotePath(text, invocation.account)),
      ),
    ),
  examples: [
    { line: 'cloud stor cat notes.txt', help: 'Show a text' },
    { line: 'cloud stor cat logs/2024-01.gz logs/2024-02.gz | zcat', help: 'Several, in order' },
  ],
});

/** Whether a local path is there and a directory. */
function isDirectory(file: string): boolean {
  try {
    return statSync(file).isDirectory();
  } catch (error) {
    if (isSystemError(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return false;
    throw error;
  }
}

/** The local file that an object is written to: inside `target` when that is a directory. */
function chooseFile(source: RemotePath, target: string, asDirectory: boolean): string {
  if (!asDirectory) return target;
  const name = baseName(source);
  // A hostile service cannot name a file outside the directory: a component has no slash, and these two are refused.
  if (name === '.' || name === '..') throw new UsageError(`${printRemotePath(source)}: "${name}" is not written as a file`);
  return join(target, name);
}

export const get = command({
  summary: 'Read an object to stdout, or objects into files',
  description:
    'With one argument the object goes to stdout. With more, the last argument is the file or directory to write to; - is stdout. A file gets its name only when it is complete and its MD5 is right. To write several objects to stdout: cloud stor cat.',
  arguments: { path: many('Object', { values: 'path' }) },
  usage: 'PATH... [FILE|DIRECTORY|-]',
  options: { noClobber: flag('Leave files alone that exist') },
  run: async (invocation) => {
    const { args, options, world, account, storage, note } = invocation;
    const target = args.path.length > 1 ? args.path.at(-1) : undefined;
    const sources = (target === undefined ? args.path : args.path.slice(0, -1)).map((path) => readRemotePath(path, account));
    if (target === undefined || target === '-') return bytes(concatenate(invocation, sources));
    const local = resolvePath(world, target);
    const intoDirectory = isDirectory(local);
    if (!intoDirectory && (sources.length > 1 || target.endsWith('/')))
      throw new UsageError(`${target}: no such directory`, { hint: `mkdir ${target}` });
    const attempts = createAttempts(invocation, sources.length);
    const rows = await attempts.each(sources, async (source) => {
      const file = chooseFile(source, local, intoDirectory);
      if (options.noClobber && statSync(file, { throwIfNoEntry: false }) !== undefined) throw new UsageError(`${file} exists: left alone`);
      const written = await writeFileWhole(file, downloadObject(storage, source));
      note(`${printRemotePath(source)} -> ${file}`);
      return { path: printRemotePath(source), file, size: written };
    });
    attempts.finish();
    return invocation.global.output === undefined && !invocation.global.json
      ? undefined
      : records(rows, { columns: ['path', 'file', 'size'], id: 'file' });
  },
  examples: [
    { line: 'cloud stor get logs/a.gz | zcat', help: 'Into a pipe' },
    { line: 'cloud stor get photos/1.jpg photos/2.jpg .', help: 'Into files of this folder' },
  ],
});

/** A header given as `name: value` or `name=value`. */
function readHeader(given: string, separator: string): [string, string] {
  const at = given.indexOf(separator);
  const name = given.slice(0, at).trim().toLowerCase();
  if (at < 1 || !/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) throw new UsageError(`"${given}" is no header: write NAME${separator}VALUE`);
  return [name, given.slice(at + 1).trim()];
}

async function guessType(name: string): Promise<string> {
  const { default: mime } = await import('mime/lite');
  return mime.getType(name) ?? 'application/octet-stream';
}

function openSource({ world }: Context, file: string): Source {
  if (file === '-') {
    return { label: 'stdin', size: undefined, replayable: false, open: () => world.stdin.stream as ByteStream };
  }
  const path = resolvePath(world, file);
  try {
    const stats = statSync(path);
    if (stats.isDirectory()) throw new UsageError(`${file} is a directory`, { hint: 'name its files' });
    const open = (): ByteStream => createReadStream(path, { highWaterMark: pieceSize });
    // What is no regular file (a pipe, a device) tells no size and can be read once only.
    return stats.isFile()
      ? { label: file, size: stats.size, replayable: true, open }
      : { label: file, size: undefined, replayable: false, open };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new UsageError(describeSystemError(error), { cause: error });
  }
}

interface PutValues {
  copies: number | undefined;
  type: string | undefined;
  meta: string[];
  header: string[];
  ifMatch: string | undefined;
  noClobber: boolean;
  maxSize: number | undefined;
}

async function readPutOptions(options: PutValues, name: string): Promise<PutOptions> {
  if (options.noClobber && options.ifMatch !== undefined) throw new UsageError('--no-clobber and --if-match contradict each other');
  const headers: Headers = {
    'content-type': options.type ?? (await guessType(name)),
    ...Object.fromEntries(options.header.map((given) => readHeader(given, ':'))),
    ...Object.fromEntries(
      options.meta.map((given) => readHeader(given, '=')).map(([key, value]) => [`m-${key.replace(/^m-/, '')}`, value]),
    ),
  };
  return {
    headers,
    copies: options.copies,
    ifMatch: options.ifMatch,
    ifNoneMatch: options.noClobber ? '*' : undefined,
    maxSize: options.maxSize,
  };
}

/** Where a file goes: into the target when that is a directory or several files are put. */
async function chooseTarget(
  { storage }: Context,
  files: readonly string[],
  target: string,
  path: RemotePath,
): Promise<(file: string) => RemotePath> {
  const found = await inspect(storage, path);
  const intoDirectory = found?.type === 'directory' || files.length > 1 || target.endsWith('/');
  if (!intoDirectory) return () => path;
  if (files.includes('-')) throw new UsageError('what comes from stdin needs a name: give the path of the object');
  if (found?.type === 'object') throw new UsageError(`${printRemotePath(path)} is an object, not a directory`);
  return (file) => joinPath(path, basename(file));
}

export const put = command({
  summary: 'Store files as objects',
  description: 'The service checks what it stores: its MD5 is compared with that of the bytes that were read.',
  arguments: { file: many('File, and last the path of the object or a directory; - for stdin', { values: 'file' }) },
  usage: 'FILE... PATH',
  options: {
    parents: flag('Make missing directories', { short: 'p' }),
    type: text('Content type; guessed from the name when absent', { placeholder: 'TYPE' }),
    meta: texts('Own header, stored as m-KEY', { short: 'm', placeholder: 'KEY=VALUE' }),
    header: texts('Any header that the service stores', { placeholder: 'NAME:VALUE' }),
    copies: number('Number of copies', { range: [1, 6] }),
    ifMatch: text('Only over the object that has this etag', { placeholder: 'ETAG' }),
    noClobber: flag('Only when there is no object of this name'),
    maxSize: size('Most bytes to take from stdin; 5 GiB when absent'),
  },
  run: async (invocation) => {
    const { args, options, account, note, storage } = invocation;
    if (args.file.length < 2) throw new UsageError('missing argument PATH', { hint: `cloud stor put ${args.file[0] ?? ''} NAME` });
    const files = args.file.slice(0, -1);
    const target = args.file.at(-1) ?? '';
    const place = await chooseTarget(invocation, files, target, readRemotePath(target, account));
    const attempts = createAttempts(invocation, files.length);
    const rows = await attempts.each(files, async (file) => {
      const source = openSource(invocation, file);
      const path = place(file);
      const parent = parentOf(path);
      if (options.parents && parent !== undefined && parent.path.includes('/')) await makeDirectories(invocation, parent, true);
      const putOptions = await readPutOptions(options, file === '-' ? baseName(path) : file);
      const stored = await explainExisting(path, options.noClobber, () =>
        explainParent(() => uploadObject(storage, source, path, putOptions), 'cloud stor put -p'),
      );
      note(`${source.label} -> ${stored.path}`);
      return stored;
    });
    attempts.finish();
    return invocation.global.output === undefined && !invocation.global.json
      ? undefined
      : records(rows, { columns: ['path', 'size', 'etag', 'md5'], id: 'path' });
  },
  examples: [
    { line: 'cloud stor put report.pdf docs/', help: 'A file into a directory' },
    { line: 'tar cz src | cloud stor put - backups/src.tgz -p', help: 'What comes from a pipe' },
  ],
});

/** Says in plain words that an object is already there; services answer 409 or 412. */
async function explainExisting<T>(path: RemotePath, noClobber: boolean, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!noClobber || !(error instanceof ApiError) || ![409, 412].includes(error.status)) throw error;
    throw new ApiError(error.status, error.code, `${printRemotePath(path)} exists: left alone`, { requestId: error.requestId });
  }
}
