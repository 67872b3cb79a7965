import { closeSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { removeQuietly } from '../../base/private-files.ts';
import type { Engine } from '../engine.ts';
import { createOwn } from './partial-file.ts';
import { nameUnfinished } from './unfinished-name.ts';
import { findWriteTarget, writeStream } from './write-target.ts';

/**
 * Writes a local file atomically: to a temporary file beside it, which is then renamed. Links are followed; streams are written directly.
 */
export async function writeWhole(
  path: string,
  body: AsyncIterable<Uint8Array>,
  { signal, processes }: Pick<Engine, 'signal' | 'processes'>,
): Promise<void> {
  const target = findWriteTarget(path);
  if (target.kind === 'stream') return await writeStream(target, body, signal);
  const { file } = target;
  const temporary = nameUnfinished(file, undefined, processes);
  try {
    closeSync(createOwn(temporary));
    const handle = await open(temporary, 'r+');
    try {
      for await (const chunk of body) await handle.writeFile(chunk);
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    removeQuietly(temporary);
    throw error;
  }
}
