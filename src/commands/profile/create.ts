import { storage } from '../../api/storage.ts';
import { command, type Context } from '../../cli/command.ts';
import { flag, one } from '../../cli/parameters.ts';
import { askText, canAsk } from '../../cli/prompt.ts';
import { checkProfileName, type Profile } from '../../config/profiles.ts';
import { kebab } from '../../config/settings.ts';
import { withHint } from '../../base/error-copies.ts';
import { ApiError, NetworkError, UsageError } from '../../base/errors.ts';
import { record } from '../../output/kinds.ts';
import { checkValues } from './check.ts';
import { ownOptions, profileFields, readGiven, showProfile } from './values.ts';

const needed = ['url', 'account', 'keyId'] as const;

/** Shows the usable keys, and prompts for the number of one or for any fingerprint. */
async function askKey({ world, localKeys }: Context): Promise<string> {
  const serving = (await localKeys()).filter(({ usableFor }) => usableFor.includes('compute'));
  // The first key is the default: preferably one that both services accept and that needs no passphrase.
  const usable = serving.toSorted((a, b) => b.usableFor.length - a.usableFor.length || Number(a.encrypted) - Number(b.encrypted));
  const lines = usable.map(
    ({ md5, type, bits, source, usableFor, encrypted }, at) =>
      `  ${at + 1}  ${md5}  ${type} ${bits}  ${source}  (${usableFor.join(' and ')}${encrypted ? ', encrypted' : ''})\n`,
  );
  world.stderr.stream.write(
    lines.length === 0 ? 'No usable key was found in the ssh-agent or in ~/.ssh; create one: ssh-keygen -t rsa\n' : lines.join(''),
  );
  const answer = await askText(world, usable.length === 0 ? 'Fingerprint of the key' : 'Key, by number or fingerprint', usable[0] && '1');
  return usable[Number(answer) - 1]?.md5 ?? answer;
}

/** Adds https:// to an address without a scheme. */
function completeUrl(answer: string): string {
  return answer === '' || answer.includes('://') ? answer : `https://${answer}`;
}

async function ask(context: Context, name: (typeof needed)[number]): Promise<string> {
  if (name === 'keyId') return await askKey(context);
  if (name === 'account') return await askText(context.world, 'Login of the account');
  return completeUrl(await askText(context.world, 'Address of the compute service'));
}

/** Prompts until the answer is valid. */
async function askUntilValid(context: Context, name: (typeof needed)[number]): Promise<string> {
  for (;;) {
    const answer = await ask(context, name);
    try {
      if (answer === '') throw new UsageError(`--${kebab(name)} is required`);
      await checkValues(context.world, { [name]: answer });
      return answer;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      context.warn(error.message);
    }
  }
}

/** Prompts for missing values that a profile needs. @throws {UsageError} that names them if there is no terminal */
async function complete(context: Context, values: Profile['values']): Promise<Profile['values']> {
  const missing = needed.filter((name) => values[name] === undefined && !(name === 'keyId' && values.keyFile !== undefined));
  if (missing.length === 0) return values;
  if (!canAsk(context.world)) {
    throw new UsageError(`missing ${missing.map((name) => `--${kebab(name)}`).join(', ')}`, { hint: 'cloud profile create --help' });
  }
  const result = { ...values };
  for (const name of missing) {
    result[name] = await askUntilValid(context, name);
  }
  if (result.storUrl === undefined) {
    const answer = completeUrl(await askText(context.world, 'Address of the object storage (empty: none)'));
    if (answer !== '') result.storUrl = answer;
  }
  return result;
}

/** Adds hints to the error of a profile that does not work; the profile is not saved. */
function explainTrial(error: unknown, { name, values }: Profile): unknown {
  const anyway = `to create the profile without testing it: cloud profile create ${name} --no-test`;
  if (error instanceof ApiError && error.status === 401) {
    const key = values.keyId ?? values.keyFile ?? '';
    const register = `the account ${values.account ?? ''} must exist in this cloud and have the public key of ${key}`;
    return withHint(error, [...error.hints, register, anyway]);
  }
  if (error instanceof NetworkError) {
    return new NetworkError(error.message, { code: error.code, cause: error, hint: [...error.hints, anyway] });
  }
  return error;
}

/** Sends a harmless request to each service. @throws the error, with hints */
async function tryProfile(context: Context, profile: Profile): Promise<void> {
  const trial = context.withProfile(profile);
  try {
    await trial.compute.getAccount({ account: trial.account });
    if (profile.values.storUrl !== undefined)
      await trial.storage.answer(storage.listDirectory, { account: trial.account, path: 'stor', limit: 1 }, { head: true });
  } catch (error) {
    throw explainTrial(error, profile);
  }
}

function hostsOf({ url, storUrl }: Profile['values']): string[] {
  return [url, storUrl].flatMap((each) => (each !== undefined && URL.canParse(each) ? [new URL(each).host] : []));
}

/** The values of a profile; undefined if its file is damaged, so that it signs nothing. */
function readUsable(profiles: Context['profiles'], name: string): Profile['values'] | undefined {
  try {
    return profiles.read(name).values;
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

/** Warns if the key also signs for other hosts: a service can reuse signatures at any service that has the same key and login. */
async function warnOfSharedKey({ profiles, warn, listKeyNames }: Context, { name, values }: Profile): Promise<void> {
  const own = new Set(hostsOf(values));
  const keyNames = new Set(await listKeyNames(values));
  for (const other of profiles.list().filter((each) => each !== name)) {
    const known = readUsable(profiles, other);
    if (known === undefined) continue;
    const isSame = (await listKeyNames(known)).some((each) => keyNames.has(each));
    const hosts = isSame ? hostsOf(known).filter((host) => !own.has(host)) : [];
    if (hosts.length === 0) continue;
    warn(
      `the key also signs for ${hosts.join(' and ')} (profile ${other}): for 300 s, a service can reuse the signatures that it receives at the other service if the same login has this key there`,
    );
    return;
  }
}

/** `cloud profile create`. */
export const create = command({
  summary: 'Create a profile',
  aliases: ['add'],
  description:
    'Prompts for settings that the options do not give, and offers the keys of this machine. Tests the profile against both services. The first profile becomes the current one. The options for URL, account and key are --url, --stor-url, --account and --key-id or --key-file.',
  arguments: { name: one('Name of the profile') },
  options: {
    ...ownOptions,
    noTest: flag('Do not test the profile'),
    use: flag('Make the profile the current one'),
    force: flag('Replace an existing profile'),
  },
  fields: profileFields,
  changes: true,
  run: async (invocation) => {
    const { args, options, profiles } = invocation;
    checkProfileName(args.name);
    if (profiles.exists(args.name) && !options['force']) {
      throw new UsageError(`profile "${args.name}" already exists`, {
        hint: `change it with cloud profile edit ${args.name}, or add --force`,
      });
    }
    const given = await checkValues(invocation.world, readGiven(invocation, options));
    const profile = { name: args.name, values: await checkValues(invocation.world, await complete(invocation, given)) };
    if (!options['noTest']) await tryProfile(invocation, profile);
    await warnOfSharedKey(invocation, profile);
    if (profiles.exists(args.name)) profiles.write(profile);
    else profiles.create(profile);
    if (options['use'] || profiles.current() === undefined) profiles.use(args.name);
    invocation.note(`Created profile ${args.name}${profiles.current() === args.name ? ', the current one' : ''}`);
    return record(showProfile(profile), { id: 'name' });
  },
  examples: [
    { line: 'cloud profile create work', help: 'Prompt for all settings' },
    {
      line: 'cloud profile create work --url https://cloud.example.com --account jill --key-id SHA256:3n0kmy...',
      help: 'Without prompts',
    },
  ],
});
