import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { ImageUpload } from '../../../api/catalogue.ts';
import { describeSystemError, InterruptedError, isSystemError, UsageError } from '../../../base/errors.ts';
import type { World } from '../../../base/world.ts';
import { resolvePath } from '../../../cli/input.ts';
import type { CatalogueChange } from './plan.ts';

/** Files of images that a document refers to. */

/** The files that changes need, each path once. @throws {UsageError} when two images describe one file differently */
export function listUploads(changes: readonly CatalogueChange[]): ImageUpload[] {
  const uploads = new Map<string, ImageUpload>();
  for (const { name, step } of changes) {
    if (!('upload' in step) || step.upload === undefined) continue;
    const { upload } = step;
    const other = uploads.get(upload.path) ?? upload;
    if (other.sha1 !== upload.sha1 || other.size !== upload.size || other.compression !== upload.compression)
      throw new UsageError(`image ${name}: another image describes the file ${upload.path} differently`);
    uploads.set(upload.path, upload);
  }
  return [...uploads.values()];
}

/** Reads a file by its path, which is relative to the document. @throws {InterruptedError} */
export async function* readUpload(world: World, document: string, { path }: Pick<ImageUpload, 'path'>): AsyncGenerator<Uint8Array> {
  const folder = document === '-' ? world.cwd : dirname(resolvePath(world, document));
  const file = resolve(folder, path);
  try {
    if (!statSync(file).isFile()) throw new UsageError(`${path}: not a file`);
    for await (const chunk of createReadStream(file) as AsyncIterable<Uint8Array>) {
      if (world.interrupted.aborted) throw new InterruptedError('interrupted; nothing was changed');
      yield chunk;
    }
  } catch (error) {
    if (!isSystemError(error)) throw error;
    error.path ??= file;
    throw new UsageError(describeSystemError(error), { cause: error });
  }
}

/** Reads the files that changes need. @throws {UsageError} if size or SHA-1 differ from the document */
export async function checkUploads(world: World, document: string, uploads: readonly ImageUpload[]): Promise<void> {
  for (const upload of uploads) {
    const hash = createHash('sha1');
    let size = 0;
    for await (const chunk of readUpload(world, document, upload)) {
      hash.update(chunk);
      size += chunk.length;
    }
    const sha1 = hash.digest('hex');
    if (size !== upload.size) throw new UsageError(`${upload.path}: has ${size} bytes, but the document says ${upload.size}`);
    if (sha1 !== upload.sha1) throw new UsageError(`${upload.path}: its SHA-1 is ${sha1}, but the document says ${upload.sha1}`);
  }
}
