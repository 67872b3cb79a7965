import { extname } from 'node:path';
import type { Headers } from '../../api/message.ts';
import type { Context } from '../../cli/command.ts';
import { createManifestAppender } from '../../transfer/tree-manifest.ts';
import type { Side } from '../../transfer/sync/tree.ts';
import { decodeStored } from '../../transfer/tree/headers.ts';
import { guessType } from './headers.ts';

/** Properties of objects that files cannot hold: kept in a manifest, or counted. */
export async function createLostHeaders({ note }: Context, to: Side, { withHeaders, modes }: { withHeaders: boolean; modes: boolean }) {
  const writer = withHeaders && to.kind === 'local' ? await createManifestAppender(to.root) : undefined;
  const held = new Set(['content-type', 'm-mtime', ...(modes ? ['m-mode'] : [])]);
  /** Number of objects by extension and content type. */
  const types = new Map<string, number>();
  let count = 0;
  return {
    add: (file: string, headers: Headers): void => {
      if (writer) writer.add(file, headers);
      else if (Object.keys(decodeStored(headers)).some((name) => !held.has(name))) count += 1;
      else {
        const key = `${extname(file)}\0${headers['content-type'] ?? ''}`;
        types.set(key, (types.get(key) ?? 0) + 1);
      }
    },
    lacks: (file: string, etag: string): boolean => writer?.lacks(file, etag) ?? false,
    finish: async (): Promise<void> => {
      writer?.finish();
      for (const [key, number] of types) {
        const [end = '', type = ''] = key.split('\0');
        if (type !== (await guessType(`x${end}`))) count += number;
      }
      if (count > 0)
        note(
          `${count} ${count === 1 ? 'object has a type or headers' : 'objects have types or headers'} that files cannot store; to keep them: --with-headers`,
        );
    },
  };
}
