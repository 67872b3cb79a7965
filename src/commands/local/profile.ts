import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withLock } from '../../base/lock.ts';
import { writePrivate } from '../../base/private-files.ts';
import { hasDatabase } from '../../base/data-directory.ts';
import type { Context } from '../../cli/command.ts';
import { readJsonFile } from '../../config/files.ts';
import { pickPreferences, type SettingName } from '../../config/settings.ts';
import { UsageError } from '../../base/errors.ts';
import type { Running, RunningAccount } from './running.ts';

/** The profiles of a local service. The name of the first is kept with its data, so that each start writes the same one. */

/** File in the data directory with the name of its profile. */
const memoryFile = 'profile.json';

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

function isHere(url: string): boolean {
  return URL.canParse(url) && loopback.test(new URL(url).hostname);
}

/** @throws {UsageError} if the profile belongs to another service: it would be overwritten */
export function checkProfile({ profiles }: Pick<Context, 'profiles'>, name: string, dataDir: string): void {
  if (!profiles.exists(name)) return;
  const { url, storUrl, keyFile = '', ca = '' } = profiles.read(name).values;
  const isOurs = [keyFile, ca].some((file) => file.startsWith(`${dataDir}/`));
  const other = [url, storUrl].find((each) => each !== undefined && !isHere(each));
  if (other === undefined || isOurs) return;
  throw new UsageError(`profile "${name}" is for ${other} and would be overwritten`, {
    hint: 'give the profile of the local service another name: cloud local start --profile NAME',
  });
}

/** True if the file is in the data directory of a local service. */
function isOfService(file: string): boolean {
  return hasDatabase(dirname(dirname(file)));
}

/** True if a profile may be written without being asked for: it is new, of the same data, or of a local service whose data is gone. */
function isFree({ profiles }: Pick<Context, 'profiles'>, name: string, { dataDir, kept }: { dataDir: string; kept: unknown }): boolean {
  if (!profiles.exists(name)) return true;
  const { url, storUrl, keyFile, ca } = profiles.read(name).values;
  const files = [keyFile, ca].filter((file) => file !== undefined);
  if (files.some((file) => file.startsWith(`${dataDir}/`))) return true;
  if (files.some(isOfService) || ![url, storUrl].every((each) => each === undefined || isHere(each))) return false;
  return name === kept || (files.length > 0 && !files.some((file) => existsSync(file)));
}

/** The profile of a service that is started without --profile: the one of earlier starts with its data, or a free name. */
function chooseProfile(context: Pick<Context, 'profiles'>, { dataDir, accounts = [] }: Running, usual: string): string {
  const kept = readJsonFile(join(dataDir, memoryFile), 'private')?.['profile'];
  const isUsable = (name: string): boolean =>
    [name, ...accounts.map(({ account }) => accountProfileOf(name, account))].every((each) => isFree(context, each, { dataDir, kept }));
  const known = [kept, usual].find((name) => typeof name === 'string' && isUsable(name));
  if (typeof known === 'string') return known;
  let number = 2;
  while (!isUsable(`${usual}-${number}`)) number += 1;
  return `${usual}-${number}`;
}

/**
 * Writes the profiles of a service's accounts, under a lock: services that start at the same time choose different names.
 * @param asked name of the first account's profile; undefined for that of earlier starts, or else a free one that begins with `usual`
 * @returns the name
 */
export function writeProfiles(
  context: Pick<Context, 'profiles' | 'paths'>,
  running: Running,
  { asked, usual }: { asked: string | undefined; usual: string },
): string {
  return withLock(`${context.paths.config}/local-profiles.lock`, () => {
    const name = asked ?? chooseProfile(context, running, usual);
    writeProfile(context, name, running, running);
    for (const each of running.accounts ?? []) writeProfile(context, accountProfileOf(name, each.account), running, each);
    moveProfiles(context, running, name);
    writePrivate(join(running.dataDir, memoryFile), `${JSON.stringify({ profile: name })}\n`, { flush: false });
    return name;
  });
}

/** Name of the profile of an account other than the first: `local-other`. */
export function accountProfileOf(profile: string, login: string): string {
  return `${profile}-${login.replaceAll('@', '-')}`;
}

/** The settings by which a profile reaches the service. */
function readAddresses({ computeUrl, storUrl, caFile }: Running): Partial<Record<SettingName, string>> {
  return { url: computeUrl, storUrl, ...(computeUrl.startsWith('https:') && caFile !== undefined && { ca: caFile }) };
}

/** Gives the profiles of accounts that an earlier start added the addresses of this one: their accounts and keys are in its data. */
function moveProfiles({ profiles }: Pick<Context, 'profiles'>, running: Running, name: string): void {
  const added = new Set((running.accounts ?? []).map(({ account }) => accountProfileOf(name, account)));
  for (const each of profiles.list().filter((other) => other.startsWith(`${name}-`) && !added.has(other))) {
    const { account = '', keyFile = '', ca: _, ...kept } = profiles.read(each).values;
    if (each !== accountProfileOf(name, account) || !keyFile.startsWith(`${running.dataDir}/`)) continue;
    profiles.write({ name: each, values: { ...kept, account, keyFile, ...readAddresses(running) } });
  }
}

/** Writes the profile of an account and keeps the preferences of an earlier one; it becomes the current profile if there is none. */
function writeProfile(
  { profiles }: Pick<Context, 'profiles'>,
  name: string,
  running: Running,
  { account, keyId, keyFile }: RunningAccount,
): void {
  const kept = profiles.exists(name) ? profiles.read(name).values : {};
  const values: Partial<Record<SettingName, string>> = {
    ...pickPreferences(kept),
    account,
    ...readAddresses(running),
    keyId,
    storEcdsa: 'true',
    ...(keyFile !== undefined && { keyFile }),
  };
  profiles.write({ name, values });
  if (profiles.current() === undefined) profiles.use(name);
}
