import { resolve } from 'node:path';
import { UsageError } from '../base/errors.ts';
import type { Connection } from '../config/journal-file.ts';
import type { Profile, Profiles } from '../config/profiles.ts';
import type { SettingInputs, Sources } from '../config/settings.ts';

/** Settings and environment variables that name files. */
const files = new Set(['keyFile', 'ca', 'CLOUD_KEY_FILE', 'CLOUD_CA']);

/**
 * The connection that the journal stores. Values of the profile are left out: the profile may have another key by the time of the
 * resumption.
 */
export function describeConnection(
  { options, env, profile }: SettingInputs,
  sources: Sources,
  { account, cwd }: { account: string; cwd: string },
): Connection {
  const whole = (name: string, value: string): [string, string] => [name, files.has(name) ? resolve(cwd, value) : value];
  const used = Object.values(sources).flatMap(({ source }) => /^environment (\S+)$/.exec(source)?.[1] ?? []);
  const { profile: _, ...given } = options;
  return {
    profile: profile?.name,
    options: Object.fromEntries(Object.entries(given).map(([name, value]) => whole(name, value))),
    env: Object.fromEntries(used.map((name) => whole(name, env[name] ?? ''))),
    service: sources.storUrl?.value ?? sources.url?.value ?? '',
    account,
  };
}

/** The current profile of a journal entry. @throws {UsageError} when it does not exist any more */
export function findProfile(profiles: Profiles, { profile }: Connection): Profile | undefined {
  if (profile === undefined) return undefined;
  if (!profiles.exists(profile))
    throw new UsageError(`the profile "${profile}" of this work no longer exists`, { hint: 'create it again, or add --drop' });
  return profiles.read(profile);
}
