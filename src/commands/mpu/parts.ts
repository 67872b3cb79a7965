import { createHash } from 'node:crypto';
import { BodyTooLarge, readAll, type ByteStream } from '../../api/message.ts';
import { command } from '../../cli/command.ts';
import { openStdin, resolvePath } from '../../cli/input.ts';
import { flag, one } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { record, records } from '../../output/kinds.ts';
import type { Work } from '../../config/journal-file.ts';
import { findUpload } from '../../transfer/upload/find-upload.ts';
import { smallestPart } from '../../transfer/upload/multipart.ts';
import { baseName, parentOf, printRemotePath, readTargetPath } from '../../transfer/path.ts';
import { tryAgain } from '../../transfer/retry.ts';
import { openSource, readWholeFile, watchBytes, type Source } from '../../transfer/local/source.ts';
import { checkPartNumber, listParts, putPart as sendPart, type PutOptions, type Stored } from '../../transfer/upload/parts.ts';
import { uploadObject } from '../../transfer/upload/upload.ts';
import { createEngine } from '../stor/engine.ts';
import { transferOptions } from '../stor/transfer-options.ts';
import { chooseHeaders, keepProperties, storeOptions } from '../stor/headers.ts';
import { explainParent, makeWithParents } from '../stor/paths.ts';
import { declarePut, putOnce } from '../stor/put-once.ts';
import { chooseTarget } from '../stor/put-target.ts';
import { runTransfers } from '../stor/show.ts';

/** Maximum size of a part from a pipe, bytes: it is held in memory, because it may have to be sent again. */
const largestPiped = 512 * 1024 * 1024;

async function readPiped(stream: ByteStream): Promise<Uint8Array> {
  try {
    return await readAll(stream, largestPiped);
  } catch (error) {
    throw error instanceof BodyTooLarge ? new UsageError('a part from stdin has at most 512 MiB', { hint: 'give a file' }) : error;
  }
}

export const putPart = command({
  summary: 'Store or replace a part of an upload',
  arguments: {
    id: one('Upload', { values: 'upload' }),
    number: one('Part number, from 0'),
    file: one('File; - for stdin', { values: 'file' }),
  },
  options: { bwlimit: transferOptions.bwlimit },
  run: async (invocation) => {
    const { args, options, storage, account, note, warn, world } = invocation;
    if (!/^\d+$/.test(args.number)) throw new UsageError(`"${args.number}" is not a part number`, { hint: 'part numbers are 0 to 9999' });
    const number = Number(args.number);
    checkPartNumber(number);
    const engine = createEngine(invocation, options, { bulk: false });
    const source = args.file === '-' ? undefined : openSource(args.file, resolvePath(world, args.file), world.interrupted);
    const place = await findUpload(storage, account, args.id);
    const content = source?.kind === 'file' ? undefined : await readPiped(source?.open() ?? openStdin(world));
    const size = source?.kind === 'file' ? source.size : (content?.length ?? 0);
    if (size < smallestPart) warn(`part ${number} has ${size} bytes: only the last part may have fewer than 5 MiB`);
    const part = await tryAgain(async () => {
      if (source?.kind === 'file') {
        const { body, seen } = watchBytes(() => readWholeFile(source), source, engine, undefined);
        return await sendPart(engine, place, number, { body, seen, length: size });
      }
      const bytes = content ?? Buffer.alloc(0);
      const md5 = createHash('md5').update(bytes).digest('base64');
      return await sendPart(engine, place, number, { body: () => bytes, seen: () => Promise.resolve({ size, md5 }), length: size, md5 });
    }, engine);
    note(`Stored part ${number} of upload ${place.id}`);
    return record({ number, ...part }, { id: 'etag' });
  },
  examples: [
    { line: 'cloud mpu put-part 0c4d6e9a 0 disk.part0', help: 'The first part' },
    { line: 'dd if=disk.img bs=16M skip=1 count=1 | cloud mpu put-part 0c4d6e9a 1 -', help: 'From a pipe' },
  ],
});

export const parts = command({
  summary: 'List the stored parts',
  arguments: { id: one('Upload', { values: 'upload' }) },
  run: async ({ args, storage, account }) => {
    const found = await listParts(storage, await findUpload(storage, account, args.id));
    const rows = [...found].toSorted(([a], [b]) => a - b).map(([number, { name: _name, type: _type, ...entry }]) => ({ number, ...entry }));
    return records(rows, {
      columns: ['number', { key: 'size', as: 'size' }, { key: 'mtime', as: 'time' }, 'etag'],
      id: 'etag',
      fields: ['contentMD5', 'durability'],
    });
  },
  examples: [
    { line: 'cloud mpu parts 0c4d6e9a', help: 'Numbers, sizes and etags' },
    { line: 'cloud mpu parts 0c4d6e9a -o name', help: 'Only the etags, in order' },
  ],
});

export const upload = command({
  summary: 'Upload a file in concurrent parts',
  description: 'To resume an interrupted upload, repeat the command.',
  arguments: {
    file: one('File; - for stdin', { values: 'file' }),
    path: one('Path of the object, or of the directory to store it in', { values: 'path' }),
  },
  options: { parents: flag('Create missing parent directories', { short: 'p' }), ...storeOptions, ...transferOptions },
  run: async (invocation) => {
    const { args, options, account, note, world, resumed } = invocation;
    const path = readTargetPath(args.path, account);
    // The path of a resumed upload names the object, even if somebody has created a directory there since.
    const target = (await chooseTarget(invocation, [args.file], args.path, path, resumed !== undefined))(args.file);
    const source: Source =
      args.file === '-'
        ? { kind: 'stream', label: 'stdin', open: () => openStdin(world) }
        : openSource(args.file, resolvePath(world, args.file), world.interrupted);
    const kept = source.kind === 'file' ? keepProperties(source, false) : {};
    const headers = { ...kept, ...(await chooseHeaders(options, source.kind === 'file' ? source.file : baseName(target))) };
    const declare = (): Work => {
      const placed = [args.file === '-' ? args.file : resolvePath(world, args.file), printRemotePath(target)] as const;
      const [file, object] = placed;
      return { ...declarePut(options, [placed]), command: 'mpu upload', args: { file, path: object }, options: { ...options } };
    };
    return await runTransfers(
      invocation,
      options,
      { only: true, bulk: true, declare },
      { columns: ['path', { key: 'size', as: 'size' }, 'etag', 'md5'], id: 'path' },
      async function* ({ engine, tally, entry }) {
        engine.monitor.expect(1, 0);
        const stored = await tally.attempt(args.file, async () => {
          const makes = options.parents && (await makeWithParents(engine.storage, parentOf(target)));
          const putOptions = { headers, copies: options.copies, hasParent: makes, alwaysInParts: true };
          const store = (how: PutOptions): Promise<Stored> => uploadObject(engine, source, target, how);
          return await explainParent(() => putOnce({ engine, entry }, source, target, putOptions, store), 'cloud mpu upload -p');
        });
        if (!stored) return;
        note(`${source.label} -> ${stored.path}`);
        yield stored;
      },
    );
  },
  examples: [
    { line: 'cloud mpu upload disk.img backups/disk.img', help: 'Any size' },
    { line: 'cloud mpu upload disk.img backups/disk.img -p --part-size 64M -P 8', help: 'Larger parts, more concurrently' },
  ],
});
