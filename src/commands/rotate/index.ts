import { readFileSync } from 'node:fs';
import type { Key } from '../../api/resources.ts';
import { command, type Context } from '../../cli/command.ts';
import { choice, flag, negatable, text, type Values } from '../../cli/parameters.ts';
import { askSecret, confirm } from '../../cli/prompt.ts';
import { record, type Output } from '../../output/kinds.ts';
import { ApiError, CloudError, InterruptedError, KeyError, NetworkError, NotFoundError, UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import type { Profile } from '../../config/profiles.ts';
import { chooseFolder, forgetRotation, makeNewKey, readRotation, removeNewKey } from './new-key.ts';
import { copyRoleTags, openOwnKeys, type OwnKeys } from './owner.ts';
import { planSwitches, requireOwnProfile, switchProfile, type NewKey, type Switch } from './profiles.ts';
import { assertSigns } from './trial.ts';

/** The current key of a profile, which must be on this machine. */
interface OldKey {
  /** MD5 fingerprint. */
  readonly fingerprint: string;
  /** MD5 and SHA256 fingerprints. */
  readonly names: ReadonlySet<string>;
  readonly type: string;
  /** True if no file has the private half unencrypted. */
  readonly isProtected: boolean;
}

const isMd5 = (name: string): boolean => /^[\da-f]{2}(:[\da-f]{2}){15}$/.test(name);

async function findOldKey({ listKeyNames, localKeys }: Context, { name, values }: Profile): Promise<OldKey> {
  const names = await listKeyNames(values);
  const fingerprint = names.find(isMd5);
  const held = (await localKeys()).filter(({ md5 }) => md5 === fingerprint);
  const [first] = held;
  if (fingerprint === undefined || first === undefined) {
    throw new KeyError(`profile ${name} has no local key to replace`, {
      hint: `to list local keys: cloud keys local; then: cloud profile edit ${name} --key-id FINGERPRINT`,
    });
  }
  const isProtected = held.every(({ source, encrypted }) => source === 'ssh-agent' || encrypted);
  return { fingerprint, names: new Set(names), type: first.type, isProtected };
}

/** Finds the old key among those of the account. @throws if it is not registered, or attested by a device */
function requireRegistered(listed: readonly Key[], { fingerprint }: OldKey, { label }: OwnKeys): Key {
  const found = listed.find((key) => key.fingerprint === fingerprint);
  if (found === undefined) throw new NotFoundError(`key ${fingerprint} is not registered with ${label}`, { hint: 'cloud keys list' });
  if (found.attested === true)
    throw new UsageError(`key ${found.name} is attested by its hardware device: a key created here cannot replace it`, {
      hint: 'create a key on the device, then: cloud keys create FILE --attestation CERTIFICATE',
    });
  return found;
}

/** Prompts for the passphrase of the new key; undefined for none. */
async function askPassphrase({ world }: Context, wanted: boolean): Promise<string | undefined> {
  if (!wanted) return undefined;
  const hint = 'or store it without one: --no-encrypt';
  const passphrase = await askSecret(world, 'passphrase of the new key', hint);
  if (passphrase === '') throw new UsageError('the passphrase is empty: nothing was done', { hint });
  if (passphrase !== (await askSecret(world, 'repeat the passphrase', hint)))
    throw new UsageError('the passphrases differ: nothing was done');
  return passphrase;
}

/** True if the service rejected the request for a reason that a retry does not change. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 420 && error.status !== 429;
}

interface Registration {
  readonly own: OwnKeys;
  readonly profile: Profile;
  readonly old: OldKey;
  readonly key: NewKey;
  readonly name: string | undefined;
}

/** Registers the new key with the role tags of the old one, unless an interrupted run has. A rejected key is removed from the disk. */
async function register(context: Context, { own, profile, old, key, name }: Registration): Promise<void> {
  const isRegistered = async (): Promise<boolean> => (await own.list()).some(({ fingerprint }) => fingerprint === key.fingerprint);
  if (!(await isRegistered())) {
    const line = readFileSync(`${key.keyFile}.pub`, 'utf8').trim();
    try {
      await own.create(line, name ?? line.split(' ')[2] ?? key.fingerprint);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // The request of an interrupted run may have registered it meanwhile.
      if (!(await isRegistered())) {
        removeNewKey(context, profile.name, key);
        throw error;
      }
    }
  }
  await copyRoleTags(context, own, old.fingerprint, key.fingerprint);
}

/** Removes a registered key that does not sign, so that everything is as before. */
async function takeBack(context: Context, { own, profile, key }: Registration): Promise<void> {
  await own.remove(context, key.fingerprint);
  removeNewKey(context, profile.name, key);
}

/** Results of trying the new key. */
interface Trials {
  /** Context of the own profile with the new key, which has signed a request. */
  readonly signing: Context;
  /** Other profiles for which the new key does not work. */
  readonly failed: Switch[];
}

/** Tries the new key for each profile before any of them is changed. */
async function tryAll(context: Context, registration: Registration, switches: readonly Switch[]): Promise<Trials> {
  const failed: Switch[] = [];
  let signing = context;
  for (const each of switches.toReversed()) {
    try {
      const trial = await assertSigns(context, { name: each.profile.name, values: each.next });
      if (each.profile.name === registration.profile.name) signing = trial;
    } catch (error) {
      if (!(error instanceof CloudError) || error instanceof InterruptedError) throw error;
      if (each.profile.name !== registration.profile.name) {
        context.warn(`profile ${each.profile.name} keeps the old key, because the new one does not work: ${error.message}`);
        failed.push(each);
        continue;
      }
      // A service that does not respond says nothing about the key; the same command resumes with it.
      if (!(error instanceof NetworkError)) await takeBack(context, registration);
      throw error;
    }
  }
  return { signing, failed };
}

/** Prompts for the removal of the old key. Returns false for every answer but yes, and if there is no terminal. */
async function mayRemove({ world }: Context, isSure: boolean, question: string): Promise<boolean> {
  if (isSure) return true;
  try {
    await confirm(world, question);
    return true;
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}

/** Removes the old key by a request that the new key signs. @returns true if it is removed */
async function retire(context: Context, own: OwnKeys, from: string, isSure: boolean): Promise<boolean> {
  const { note } = context;
  const old = (await own.list()).find(({ fingerprint }) => fingerprint === from);
  if (old === undefined) return true;
  if (!(await mayRemove(context, isSure, `Remove the old key ${old.name} (${from}) from ${own.label}?`))) {
    note(`The old key ${old.name} still signs; to remove it: ${own.removal(from)}`);
    return false;
  }
  await own.remove(context, from);
  note(`Removed the old key ${old.name} (${from}) from ${own.label}; its file was kept`);
  return true;
}

const rotateOptions = {
  yes: flag('Remove the old key from the account without asking', { short: 'y' }),
  dryRun: flag('Only show what would be done', { short: 'n' }),
  name: text('Name of the new key; default cloud-PROFILE-DATE', { placeholder: 'NAME' }),
  type: choice('Type of the new key; default that of the old one', ['rsa', 'ecdsa']),
  encrypt: negatable('Encrypt the new key with a passphrase; by default as the old key'),
};

const rotationFields = ['profile', 'fingerprint', 'keyFile', 'previous', 'removed', 'switched'];

/** The output of the command; without a new key for `--dry-run`. */
function showRotation({ name }: Profile, previous: string, key: Partial<NewKey>, switched: string[], removed: boolean): Output {
  return record({ profile: name, ...key, previous, removed, switched }, { id: 'fingerprint', columns: rotationFields });
}

/** Warns about profiles of other accounts with the same key, which are not changed. */
function nameElsewhere({ warn }: Context, elsewhere: readonly Profile[]): void {
  for (const { name } of elsewhere)
    warn(
      `profile ${name} uses the same key for another account or service and keeps it; to rotate it: cloud --profile ${quoteShell(name)} keys rotate`,
    );
}

/** Shows what would be done, for `--dry-run`. */
async function rehearse(context: Context, profile: Profile, own: OwnKeys, current: OldKey, listed: Key): Promise<Output> {
  const unchanged = { fingerprint: current.fingerprint, keyFile: profile.values.keyFile ?? '' };
  const { switches, elsewhere } = await planSwitches(context, profile, current.names, unchanged);
  nameElsewhere(context, elsewhere);
  const names = switches.map((each) => each.profile.name);
  for (const name of names) context.note(`Would switch profile ${name} to a new key`);
  context.note(`Would ask whether to remove key ${listed.name} (${current.fingerprint}) from ${own.label}`);
  return showRotation(profile, current.fingerprint, {}, names, false);
}

/** Replaces the key. @param begun the new key of an interrupted run */
async function replace(
  context: Context & { readonly options: Values<typeof rotateOptions> },
  profile: Profile,
  own: OwnKeys,
  current: OldKey,
  listed: Key,
  begun: NewKey | undefined,
): Promise<Output> {
  const { options, note, warn } = context;
  const from = current.fingerprint;
  const makeKey = async (): Promise<NewKey> =>
    await makeNewKey(context, {
      profile: profile.name,
      from,
      folder: chooseFolder(context, profile.values.keyFile),
      type: options.type ?? (current.type === 'ecdsa' ? 'ecdsa' : 'rsa'),
      passphrase: await askPassphrase(context, options.encrypt ?? current.isProtected),
    });
  const key = begun ?? (await makeKey());
  const registration = { own, profile, old: current, key, name: options.name };
  await register(context, registration);
  const { switches, elsewhere } = await planSwitches(context, profile, current.names, key);
  nameElsewhere(context, elsewhere);
  const { signing, failed } = await tryAll(context, registration, switches);
  const done = switches.filter((each) => !failed.includes(each));
  for (const each of done) {
    switchProfile(context, each);
    note(`Profile ${each.profile.name} now signs with the new key ${key.fingerprint} in ${key.keyFile}`);
  }
  const names = failed.map((each) => each.profile.name).join(', ');
  if (failed.length > 0) warn(`the old key ${listed.name} stays registered, because it signs for ${names}`);
  const removed = failed.length === 0 && (await retire(signing, openOwnKeys(signing), from, options.yes));
  forgetRotation(context, profile.name);
  if (current.isProtected) note(`To add the new key to the agent: ssh-add ${quoteShell(key.keyFile)}`);
  return showRotation(
    profile,
    from,
    key,
    done.map((each) => each.profile.name),
    removed,
  );
}

/** `cloud keys rotate`. */
export const rotate = command({
  summary: 'Replace the key of the profile with a new one',
  description:
    'Creates a key pair next to the old one, registers it with the same role tags, and waits until both services accept it. Then it switches the profile, and all profiles of the same account with the old key, to the new key. It removes the old key from the account only after confirmation; until then both keys work. To resume after an interruption, repeat the command. Keys of an agent are replaced by files in ~/.ssh. If the old key had a passphrase or was in an agent, the new one gets a passphrase. Files of old keys are not deleted.',
  options: rotateOptions,
  fields: rotationFields,
  changes: true,
  run: async (invocation) => {
    const { options } = invocation;
    const profile = requireOwnProfile(invocation);
    const own = openOwnKeys(invocation);
    const current = await findOldKey(invocation, profile);
    const begun = readRotation(invocation, profile.name);
    if (begun?.fingerprint === current.fingerprint && !options.dryRun) {
      const removed = await retire(invocation, own, begun.from, options.yes);
      forgetRotation(invocation, profile.name);
      return showRotation(profile, begun.from, begun, [], removed);
    }
    const listed = requireRegistered(await own.list(), current, own);
    if (options.dryRun) return await rehearse(invocation, profile, own, current, listed);
    return await replace(invocation, profile, own, current, listed, begun?.from === current.fingerprint ? begun : undefined);
  },
  examples: [
    { line: 'cloud keys rotate', help: 'Asks before the old key is removed' },
    { line: 'cloud keys rotate --yes --name laptop-2027', help: 'Without confirmation' },
    { line: 'cloud keys rotate --dry-run', help: 'Show which profiles use the key' },
  ],
});
