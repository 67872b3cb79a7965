import type { Context } from '../../cli/command.ts';
import { preferences, type SettingName } from '../../config/settings.ts';
import { UsageError } from '../../base/errors.ts';
import type { Running, RunningAccount } from './running.ts';

/** The profile of a local service. */

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

/** Name of the profile of an account other than the first: `local-other`. */
export function accountProfileOf(profile: string, login: string): string {
  return `${profile}-${login.replaceAll('@', '-')}`;
}

/** Writes the profile of an account and keeps the preferences of an earlier one; it becomes the current profile if there is none. */
export function writeProfile(
  { profiles }: Pick<Context, 'profiles'>,
  name: string,
  { computeUrl, storUrl, caFile }: Running,
  { account, keyId, keyFile }: RunningAccount,
): void {
  const kept = profiles.exists(name) ? profiles.read(name).values : {};
  const values: Partial<Record<SettingName, string>> = {
    ...Object.fromEntries(preferences.flatMap((each) => (kept[each] === undefined ? [] : [[each, kept[each]]]))),
    account,
    url: computeUrl,
    storUrl,
    keyId,
    storEcdsa: 'true',
    ...(keyFile !== undefined && { keyFile }),
    ...(computeUrl.startsWith('https:') && caFile !== undefined && { ca: caFile }),
  };
  profiles.write({ name, values });
  if (profiles.current() === undefined) profiles.use(name);
}
