import { splitList } from '../../base/split-list.ts';
import type { StorageClient } from '../../client/client.ts';
import type { RemotePath } from '../path.ts';
import { decodeStored } from './headers.ts';
import { changeMetadata } from './metadata.ts';

/**
 * Changes the role tags of one entry; its other headers stay.
 * @returns its roles after the change; undefined when the entry does not exist
 */
export async function changeRoleTags(
  { storage, signal }: { storage: StorageClient; signal: AbortSignal },
  path: RemotePath,
  change: (current: readonly string[]) => readonly string[],
): Promise<string[] | undefined> {
  let roles: string[] = [];
  const changed = await changeMetadata(
    storage,
    path,
    (current) => {
      roles = [...new Set(change(splitList(current['role-tag'])))];
      return { headers: decodeStored(current), roleTag: roles.join(',') };
    },
    signal,
  );
  return changed && roles;
}
