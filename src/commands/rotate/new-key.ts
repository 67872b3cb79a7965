import { closeSync, existsSync, fsyncSync, writeFileSync } from 'node:fs';
import type { Context } from '../../cli/command.ts';
import { isSystemError } from '../../base/errors.ts';
import { createPrivate, makeMissingFolders, parentOf, removeQuietly, writePrivate } from '../../base/private-files.ts';
import type { NewKey } from './profiles.ts';

/** State of an unfinished rotation of a profile's key. */
interface Rotation extends NewKey {
  /** MD5 fingerprint of the key that is replaced. */
  readonly from: string;
}

const stateOf = (profile: string): string => `rotations/${profile}`;

/** Returns the interrupted rotation of a profile's key; undefined when its new key does not exist any more. */
export function readRotation({ state }: Context, profile: string): Rotation | undefined {
  const { from, fingerprint, keyFile } = state.read(stateOf(profile)) ?? {};
  if (typeof from !== 'string' || typeof fingerprint !== 'string' || typeof keyFile !== 'string') return undefined;
  return existsSync(keyFile) ? { from, fingerprint, keyFile } : undefined;
}

/** Removes the state of a finished rotation. */
export function forgetRotation({ state }: Context, profile: string): void {
  state.remove(stateOf(profile));
}

/** Removes the files of a new key that is not registered. */
export function removeNewKey(context: Context, profile: string, { keyFile }: NewKey): void {
  for (const file of [keyFile, `${keyFile}.pub`]) removeQuietly(file);
  forgetRotation(context, profile);
}

/** Writes a new file. @returns its path: the first of PATH, PATH-2, PATH-3, ... that does not exist */
function writeNew(path: string, content: string): string {
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? path : `${path}-${number}`;
    if (existsSync(`${candidate}.pub`)) continue;
    try {
      const file = createPrivate(candidate);
      try {
        writeFileSync(file, content);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      return candidate;
    } catch (error) {
      if (!isSystemError(error) || error.code !== 'EEXIST') throw error;
    }
  }
}

interface Wish {
  readonly profile: string;
  /** MD5 fingerprint of the key that is replaced. */
  readonly from: string;
  /** Directory of the new files. */
  readonly folder: string;
  readonly type: 'rsa' | 'ecdsa';
  readonly passphrase: string | undefined;
}

/** Creates a key pair in two new files; from then on the rotation can be resumed. */
export async function makeNewKey(context: Context, { profile, from, folder, type, passphrase }: Wish): Promise<NewKey> {
  const date = new Date(context.world.now()).toISOString().slice(0, 10);
  const comment = `cloud-${profile}-${date}`;
  const { privateText, publicLine, fingerprint } = await context.makeKey({ type, comment, passphrase });
  makeMissingFolders(folder);
  const keyFile = writeNew(`${folder}/${comment}`, privateText);
  writePrivate(`${keyFile}.pub`, `${publicLine}\n`);
  const rotation: Rotation = { from, fingerprint, keyFile };
  context.state.write(stateOf(profile), rotation);
  return { fingerprint, keyFile };
}

/** The folder for a new key: that of the profile's key file, or ~/.ssh, where keys are found by their fingerprints. */
export function chooseFolder({ paths }: Context, keyFile: string | undefined): string {
  return keyFile === undefined ? paths.ssh : parentOf(keyFile);
}
