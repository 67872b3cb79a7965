import { storage } from '../../api/storage.ts';
import type { Context } from '../../cli/command.ts';
import { pollUntil } from '../../cli/wait.ts';
import { ApiError } from '../../base/errors.ts';
import type { Profile } from '../../config/profiles.ts';

/** Sends a harmless request to each service in the settings. Status 403 means that the signature was accepted. */
async function ask(context: Context): Promise<void> {
  // Reading a client creates it, which fails without an address, so that the clients are not destructured here.
  const { account, settings } = context;
  const heed = (error: unknown): void => {
    if (!(error instanceof ApiError && error.status === 403)) throw error;
  };
  const { url, storUrl } = settings();
  if (url !== undefined) await context.compute.getAccount({ account }).catch(heed);
  if (storUrl !== undefined)
    await context.storage.answer(storage.listDirectory, { account, path: 'stor', limit: 1 }, { head: true }).catch(heed);
}

/** Waits until both services accept signatures of a profile: a new key may not be known everywhere yet. @throws {WaitError} */
export async function assertSigns(context: Context, profile: Profile): Promise<Context> {
  const trial = context.withProfile(profile);
  const what = `the new key signs for profile ${profile.name}`;
  await pollUntil(context, { what, limit: undefined, hint: 'repeat the command to continue' }, async () => {
    try {
      await ask(trial);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return false;
      throw error;
    }
  });
  return trial;
}
