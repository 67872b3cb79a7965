import type { Context } from '../../cli/command.ts';
import type { Profile } from '../../config/profiles.ts';
import type { SettingName } from '../../config/settings.ts';
import { UsageError } from '../../base/errors.ts';

type Values = Profile['values'];

/** A key that replaces another in profiles. */
export interface NewKey {
  /** MD5 fingerprint. */
  readonly fingerprint: string;
  /** Path of the private half. */
  readonly keyFile: string;
}

/** A profile, and its settings with the new key. */
export interface Switch {
  readonly profile: Profile;
  readonly next: Values;
}

/** Settings that select the service, the signer and the key. */
const identity = ['url', 'account', 'user', 'keyId', 'keyFile'] as const satisfies readonly SettingName[];

/** The profile in use. @throws {UsageError} without one, or if an option or variable overrides the signer: its key would not be replaced */
export function requireOwnProfile({ settings, profiles }: Context): Profile {
  const values = settings();
  const name = values.profile?.value || profiles.current();
  if (name === undefined)
    throw new UsageError('no profile is in use', {
      hint: 'create one: cloud profile create NAME',
    });
  const other = identity.map((setting) => values[setting]).find((each) => each !== undefined && each.source !== `profile ${name}`);
  if (other !== undefined)
    throw new UsageError(`${other.source} overrides profile ${name}: its key cannot be rotated`, {
      hint: 'remove it, or use another profile: cloud --profile NAME keys rotate',
    });
  return profiles.read(name);
}

function isSameAddress(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined || !URL.canParse(one) || !URL.canParse(other)) return one === other;
  return new URL(one).href === new URL(other).href;
}

/** True if the keys of both are registered in the same place: for the same account or sub-user of the same cloud. */
function isSameOwner(own: Values, other: Values): boolean {
  if (own.account !== other.account || (own.user ?? '') !== (other.user ?? '')) return false;
  // A profile for the object storage alone has no `url`.
  return other.url === undefined ? isSameAddress(own.storUrl, other.storUrl) : isSameAddress(own.url, other.url);
}

/** Which of the two keys of a profile are the old key. */
export interface Uses {
  readonly main: boolean;
  readonly storage: boolean;
}

/** @param names fingerprints of the old key */
async function findUses({ listKeyNames }: Context, values: Values, names: ReadonlySet<string>): Promise<Uses> {
  const has = async (part: Values): Promise<boolean> => (await listKeyNames(part)).some((name) => names.has(name));
  const { keyId, keyFile, storKeyId } = values;
  const main = await has({ ...(keyId !== undefined && { keyId }), ...(keyFile !== undefined && { keyFile }) });
  return { main, storage: storKeyId !== undefined && (await has({ keyId: storKeyId })) };
}

/** Replaces the old key in settings. A key in ~/.ssh is found by its fingerprint, any other by its file. */
function replaceKey({ paths }: Context, values: Values, { main, storage }: Uses, { fingerprint, keyFile }: NewKey): Values {
  const next = { ...values };
  if (main && (values.keyId !== undefined || values.keyFile === undefined)) next.keyId = fingerprint;
  if (main && (values.keyFile !== undefined || !keyFile.startsWith(`${paths.ssh}/`))) next.keyFile = keyFile;
  if (storage) next.storKeyId = fingerprint;
  return next;
}

/** The profiles that have the old key. */
export interface Switches {
  /** The own profile is last. */
  readonly switches: Switch[];
  /** Profiles of other accounts or clouds, where the old key stays registered. */
  readonly elsewhere: Profile[];
}

/** Finds the profiles that have the old key. @param names fingerprints of the old key */
export async function planSwitches(context: Context, own: Profile, names: ReadonlySet<string>, key: NewKey): Promise<Switches> {
  const { profiles } = context;
  const switches: Switch[] = [];
  const elsewhere: Profile[] = [];
  for (const name of [...profiles.list().filter((each) => each !== own.name), own.name]) {
    const profile = profiles.read(name);
    const uses = await findUses(context, profile.values, names);
    if (!uses.main && !uses.storage) continue;
    if (!isSameOwner(own.values, profile.values)) elsewhere.push(profile);
    else switches.push({ profile, next: replaceKey(context, profile.values, uses, key) });
  }
  return { switches, elsewhere };
}

/** Writes a profile with the new key. @throws {UsageError} if it was changed meanwhile */
export function switchProfile({ profiles }: Context, { profile, next }: Switch): void {
  profiles.change(profile.name, (values) => {
    if (JSON.stringify(values) !== JSON.stringify(profile.values))
      throw new UsageError(`profile ${profile.name} was changed concurrently`, { hint: 'repeat the command to continue' });
    return next;
  });
}
