import { createHash } from 'node:crypto';
import { readAll } from '../../api/message.ts';
import type { Image } from '../../api/resources.ts';
import type { Context } from '../../cli/command.ts';
import { LocalError, quietly } from '../../base/errors.ts';
import { isRecord } from '../../base/is-record.ts';
import { downloadObject } from '../../transfer/download/download.ts';
import { readRemotePath } from '../../transfer/path.ts';
import { limitStream } from '../../transfer/upload/multipart.ts';
import { createEngine } from '../stor/engine.ts';

/** Absolute paths of an exported image and its manifest. */
export interface Exported {
  readonly image: string;
  readonly manifest: string;
}

/** Maximum size of a manifest, bytes. */
const largestManifest = 1024 * 1024;

function createDamage(path: string, what: string): LocalError {
  return new LocalError(`${path}: ${what}`, { hint: 'export the image again: cloud images export IMAGE PATH' });
}

async function readImageManifest(context: Context, path: string): Promise<Record<string, unknown>> {
  const engine = createEngine(context, {}, { bulk: false });
  const pieces = downloadObject(engine, readRemotePath(path, context.account));
  const createLargeError = (): LocalError => createDamage(path, `a manifest has at most ${largestManifest} bytes`);
  const content = await readAll(limitStream(pieces, largestManifest, createLargeError));
  const value = quietly<unknown>(() => JSON.parse(Buffer.from(content).toString()), undefined);
  if (isRecord(value)) return value;
  throw createDamage(path, 'is not a manifest');
}

/**
 * Reads an exported image back: the manifest must be that of the image, and the file must have the size and SHA-1 that both state. Memory
 * use is constant.
 * @throws {LocalError} that says what differs
 */
export async function verifyExported(context: Context, { id, name, version, files }: Image, exported: Exported): Promise<void> {
  const manifest = await readImageManifest(context, exported.manifest);
  for (const [field, value] of Object.entries({ uuid: id, name, version }))
    if (manifest[field] !== value) throw createDamage(exported.manifest, `${field} is ${JSON.stringify(manifest[field])}, not ${value}`);
  const [file] = Array.isArray(manifest['files']) ? (manifest['files'] as unknown[]) : [];
  const [said] = files ?? [];
  if (!isRecord(file) || (said && (file['sha1'] !== said.sha1 || file['size'] !== said.size)))
    throw createDamage(exported.manifest, 'its file is not the file of the image');
  const hash = createHash('sha1');
  let size = 0;
  const engine = createEngine(context, {}, { bulk: false });
  for await (const piece of downloadObject(engine, readRemotePath(exported.image, context.account))) {
    hash.update(piece);
    size += piece.length;
  }
  const sha1 = hash.digest('hex');
  if (size !== file['size']) throw createDamage(exported.image, `has ${size} bytes, and its manifest says ${String(file['size'])}`);
  if (sha1 !== file['sha1']) throw createDamage(exported.image, `its SHA-1 is ${sha1}, and its manifest says ${String(file['sha1'])}`);
}
