import { upload } from '../../api/objects.ts';
import { command } from '../../cli/command.ts';
import { flag, many, one, some } from '../../cli/parameters.ts';
import { confirm } from '../../cli/prompt.ts';
import { listFieldNames } from '../../cli/shapes.ts';
import { isMissing, unlessMissing, UsageError } from '../../base/errors.ts';
import { record, records } from '../../output/kinds.ts';
import { findUpload, getUpload, listUploads } from '../../transfer/upload/find-upload.ts';
import { smallestPart } from '../../transfer/upload/multipart.ts';
import { baseName, joinPath, printRemotePath, quoteRemotePath, readTargetPath } from '../../transfer/path.ts';
import { runOrdered } from '../../base/parallel.ts';
import { tryAgain } from '../../transfer/retry.ts';
import { commitUpload, createUpload, listParts, partsDirectory, type UploadPlace } from '../../transfer/upload/parts.ts';
import { createTally } from '../stor/tally.ts';
import { chooseHeaders, declaredOfUploads, storeOptions } from '../stor/headers.ts';

/** Number of uploads whose state is requested concurrently. */
const parallel = 16;

export const create = command({
  summary: 'Create an upload',
  description: 'The path is not checked until the commit. The request is never retried, because each one creates an upload.',
  aliases: ['add'],
  arguments: { path: one('Path of the object that the commit creates', { values: 'path' }) },
  options: storeOptions,
  run: async (invocation) => {
    const { args, options, storage, account, note } = invocation;
    const target = readTargetPath(args.path, account);
    if (args.path.endsWith('/'))
      throw new UsageError(`${args.path} is a directory: the object needs a name`, {
        hint: `give its full path: cloud mpu create ${quoteRemotePath(joinPath(target, 'NAME'))}`,
      });
    const place = await createUpload({ storage }, target, {
      headers: await chooseHeaders(options, baseName(target), declaredOfUploads),
      copies: options.copies,
    });
    note(`Created upload ${place.id}`);
    const shown = { id: place.id, partsDirectory: printRemotePath(partsDirectory(place)), targetObject: printRemotePath(target) };
    return record(shown, { id: 'id' });
  },
  examples: [
    { line: 'cloud mpu create backups/disk.img -o name', help: 'Print the id, for the parts' },
    { line: 'cloud mpu create backups/disk.img --header content-length:6000000', help: 'Let the commit check the length' },
    { line: 'cloud mpu create backups/disk.img --copies 3 -m host=web1', help: 'Set headers of the object' },
  ],
});

export const list = command({
  summary: 'List the uploads of the account',
  description: 'Lists uploads in progress; services also keep finished ones for a while.',
  aliases: ['ls'],
  run: async ({ storage, account }) => {
    async function describe(place: UploadPlace): Promise<object | undefined> {
      // An upload may be finished while the list is read.
      const found = await unlessMissing(getUpload(storage, place));
      return found && { ...found, partsDirectory: printRemotePath(partsDirectory(place)) };
    }
    async function* rows(): AsyncGenerator<object> {
      try {
        for await (const row of runOrdered(listUploads(storage, account), describe, { limit: parallel })) if (row) yield row;
      } catch (error) {
        // Some services have no directory of uploads until an account has created one.
        if (!isMissing(error)) throw error;
      }
    }
    return records(rows(), {
      columns: ['id', 'state', 'targetObject', { key: 'creationTimeMs', title: 'CREATED', as: 'time' }, { key: 'numCopies', long: true }],
      id: 'id',
      ...listFieldNames(upload),
    });
  },
  examples: [
    { line: 'cloud mpu list', help: 'List uploads in progress' },
    { line: 'cloud mpu list -o name | xargs cloud mpu abort -y', help: 'Abort all of them' },
  ],
});

export const get = command({
  summary: 'Show an upload',
  aliases: ['show'],
  arguments: { id: one('Upload', { values: 'upload' }) },
  run: async ({ args, storage, account }) =>
    record(await getUpload(storage, await findUpload(storage, account, args.id)), { id: 'id', ...listFieldNames(upload) }),
  examples: [
    { line: 'cloud mpu get 0c4d6e9a', help: 'By the first characters of its id' },
    { line: 'cloud mpu get 0c4d6e9a -j --columns state', help: 'Its state as JSON' },
  ],
});

/** Returns the etags of all parts in order. @throws {UsageError} for parts that no service commits; then nothing is sent */
function readEtags(sizes: ReadonlyMap<number, { etag: string; size: number }>, given: readonly string[]): string[] {
  const count = given.length > 0 ? given.length : sizes.size;
  const etags = [];
  for (let number = 0; number < count; number += 1) {
    const part = sizes.get(number);
    if (!part)
      throw new UsageError(`part ${number} is missing: parts are numbered from 0 without gaps`, {
        hint: 'cloud mpu put-part ID N FILE',
      });
    if (number < count - 1 && part.size < smallestPart)
      throw new UsageError(`part ${number} has ${part.size} bytes: every part except the last has at least 5 MiB`);
    if (given[number] !== undefined && given[number] !== part.etag)
      throw new UsageError(`part ${number} has the etag ${part.etag}, not ${given[number] ?? ''}: it was replaced`);
    etags.push(part.etag);
  }
  return etags;
}

export const commit = command({
  summary: 'Commit an upload: create the object from its parts',
  description: 'Without etags, all stored parts are used. Repeating the same commit is harmless.',
  arguments: { id: one('Upload', { values: 'upload' }), etag: some('Etag of each part, in order from part 0') },
  run: async (invocation) => {
    const { args, storage, account, note } = invocation;
    const place = await findUpload(storage, account, args.id);
    const { state, targetObject } = await getUpload(storage, place);
    let etags: string[] = [...args.etag];
    // Once an upload is finished, its parts are gone; the service compares these etags with those of the earlier commit.
    if (state === 'created' || (state === undefined && etags.length === 0)) {
      const parts = await listParts(storage, place);
      const sizes = new Map([...parts].map(([number, { etag = '', size = 0 }]) => [number, { etag, size }]));
      etags = readEtags(sizes, args.etag);
    } else if (state !== undefined && etags.length === 0)
      throw new UsageError(`upload ${place.id} is ${state}: to commit it again, give the etags of its parts`);
    const { location, ...stored } = await tryAgain(() => commitUpload(storage, place, etags), storage);
    note(`Committed upload ${place.id}`);
    return record({ path: targetObject ?? location, ...stored }, { id: 'path' });
  },
  examples: [
    { line: 'cloud mpu commit 0c4d6e9a', help: 'All parts' },
    { line: 'cloud mpu commit 0c4d6e9a $(cloud mpu parts 0c4d6e9a -o name)', help: 'Exactly these parts' },
  ],
});

export const abort = command({
  summary: 'Abort uploads and delete their parts',
  aliases: ['delete', 'rm'],
  arguments: { id: many('Upload', { values: 'upload' }) },
  options: { yes: flag('Do not ask', { short: 'y' }), dryRun: flag('Only show what would be aborted', { short: 'n' }) },
  run: async (invocation) => {
    const { args, options, storage, account, note, world } = invocation;
    const tally = createTally(invocation, args.id.length === 1);
    const places: UploadPlace[] = [];
    for (const word of args.id) {
      const place = await tally.prepare(word, () => findUpload(storage, account, word));
      if (place) places.push(place);
    }
    if (options.dryRun) {
      for (const { id } of places) note(`Would abort upload ${id}`);
      tally.finish();
      return undefined;
    }
    if (!options.yes && places.length > 0) await confirm(world, `Abort ${places.map(({ id }) => id).join(', ')}?`);
    for (const place of places) {
      await tally.attempt(place.id, async () => {
        await storage.abortMultipartUpload(place);
        note(`Aborted upload ${place.id}`);
      });
    }
    tally.finish();
    return undefined;
  },
  examples: [
    { line: 'cloud mpu abort 0c4d6e9a', help: 'Asks first' },
    { line: 'cloud mpu abort 0c4d6e9a 77aa01bc -y', help: 'Several, without confirmation' },
  ],
});
