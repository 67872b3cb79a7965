import { NetworkError } from '../../base/errors.ts';
import type { StorageClient } from '../../client/client.ts';
import type { Memory } from '../engine.ts';
import { abortUpload, readPlace } from './parts.ts';

/** The note about a multipart upload in progress. */
interface NotedUpload {
  /** Path of the object. */
  readonly target: string;
  /** PID of the process that sends it. */
  readonly pid: number;
}

/** Aborts multipart uploads that were created but not committed, and removes their notes. */
export async function dropUploads(
  storage: StorageClient,
  memory: Pick<Memory, 'read' | 'remove'> & { list(folder: string): string[] },
  { service, isMeant }: { readonly service: string; readonly isMeant: (upload: NotedUpload) => boolean },
): Promise<void> {
  for (const name of memory.list('uploads')) {
    const noted = memory.read(name);
    const { target, pid, partsDirectory } = noted ?? {};
    if (noted?.['service'] !== service || typeof target !== 'string' || typeof partsDirectory !== 'string') continue;
    if (!isMeant({ target, pid: typeof pid === 'number' ? pid : 0 })) continue;
    try {
      await abortUpload(storage, readPlace(partsDirectory));
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
    }
    memory.remove(name);
  }
}
