import { createHash } from 'node:crypto';
import type { Context } from '../../cli/command.ts';
import { flag } from '../../cli/parameters.ts';
import { createKnownStore, type KnownStore } from '../../transfer/upload/known.ts';
import { uploadObject } from '../../transfer/upload/upload.ts';

/** An option of commands that store files. */
export const linkKnownOption = flag('Link files stored before; do not send them');

/** Stores files, and prints a note at the end. */
export interface Storing {
  readonly store: KnownStore['store'];
  finish(): void;
}

/** Creates a `Storing`. With `--link-known`, files that this machine stored before become links if their objects are unchanged. */
export function createStoring(
  { state, settings, note, account }: Pick<Context, 'state' | 'settings' | 'note' | 'account'>,
  { linkKnown }: { readonly linkKnown: boolean },
): Storing {
  const none = { store: uploadObject, finish: () => undefined };
  if (!linkKnown) return none;
  const id = createHash('sha256')
    .update(JSON.stringify([settings().storUrl?.value, account]))
    .digest('hex')
    .slice(0, 32);
  const file = state.locate(`stored/${id}.jsonl`);
  if (file === undefined) return none;
  const known = createKnownStore(file);
  return {
    store: known.store,
    finish: () => {
      known.close();
      const count = known.linked();
      if (count > 0) note(`${count} ${count === 1 ? 'file was' : 'files were'} linked to objects that this machine stored before`);
    },
  };
}
