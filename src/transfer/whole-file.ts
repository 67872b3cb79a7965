import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

/** Writes a local file whole or not at all: under a temporary name beside it, then renamed. */
export async function writeWhole(file: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  const temporary = `${file}.${randomUUID()}.part`;
  try {
    const handle = await open(temporary, 'wx', 0o666);
    try {
      for await (const piece of body) await handle.writeFile(piece);
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
