import { command, group, type Context } from '../cli/command.ts';
import { globalOptions } from '../cli/globals.ts';
import { quoteShell } from '../cli/curl.ts';
import { flag, maybe, one, text, type Options } from '../cli/parameters.ts';
import { askText, canAsk } from '../cli/prompt.ts';
import { deleteCommand, listCommand } from '../cli/shapes.ts';
import { kebab, profileSettings, resolveSettings, settings, type Setting, type SettingName } from '../config/settings.ts';
import { checkProfileName, type Profile } from '../config/profiles.ts';
import { UsageError } from '../errors.ts';
import { record, records, text as plainText } from '../output/kinds.ts';

/** Settings of a profile that are no global options: options of `create` and `edit` only. */
const ownOptions: Options = Object.fromEntries(
  profileSettings
    .filter((name) => !(name in globalOptions))
    .map((name) => [name, settings[name].kind === 'flag' ? flag(settings[name].help) : text(settings[name].help)]),
);

/** The settings given on the command line of `profile create` and `profile edit`. */
function readGiven(context: Context, options: Readonly<Record<string, unknown>>): Profile['values'] {
  const all: Readonly<Record<string, unknown>> = { ...context.global, ...options };
  const given = profileSettings.filter((name) => all[name] !== undefined && all[name] !== false);
  return Object.fromEntries(given.map((name) => [name, String(all[name])]));
}

async function chooseKey({ world, localKeys }: Context): Promise<string | undefined> {
  const usable = (await localKeys()).filter(({ usableFor }) => usableFor.includes('compute'));
  for (const key of usable) world.stderr.stream.write(`  ${key.md5}  ${key.type} ${key.bits}  ${key.source}\n`);
  return await askText(world, 'Fingerprint of the key', usable[0]?.md5);
}

/** Asks for what a profile needs and was not given. @throws {UsageError} naming it where nobody can answer */
async function complete(context: Context, values: Profile['values']): Promise<Profile['values']> {
  const { world } = context;
  const needed: readonly SettingName[] = ['url', 'account', 'keyId'];
  const missing = needed.filter((name) => values[name] === undefined && !(name === 'keyId' && values.keyFile !== undefined));
  if (missing.length === 0) return values;
  if (!canAsk(world)) {
    throw new UsageError(`missing ${missing.map((name) => `--${kebab(name)}`).join(', ')}`, { hint: 'cloud profile create --help' });
  }
  const result = { ...values };
  for (const name of missing) {
    const answer = name === 'keyId' ? await chooseKey(context) : await askText(world, settings[name].help);
    if (answer === undefined || answer === '') throw new UsageError(`--${kebab(name)} is needed`);
    result[name] = answer;
  }
  if (result.storUrl === undefined) {
    const answer = await askText(world, `${settings.storUrl.help} (empty: none)`);
    if (answer !== '') result.storUrl = answer;
  }
  return result;
}

function show({ name, values }: Profile): object {
  return { name, ...values };
}

const list = listCommand({
  summary: 'List the profiles',
  columns: ['name', 'current', 'account', 'url', 'storUrl', { key: 'keyId', long: true }],
  id: 'name',
  fetch: ({ profiles }) => {
    const current = profiles.current();
    return profiles.list().map((name) => ({ ...show(profiles.read(name)), current: name === current }));
  },
  examples: [
    { line: 'cloud profile list', help: 'All profiles, and which one is current' },
    { line: 'cloud profile list -o name', help: 'Only the names' },
  ],
});

const get = command({
  summary: 'Show a profile',
  aliases: ['show'],
  arguments: { name: maybe('Name; the current profile when absent', { values: 'profile' }) },
  options: { explain: flag('Show every setting that is in force, and where it comes from') },
  run: async (invocation) => {
    const { args, options } = invocation;
    if (options.explain) {
      const rows = Object.entries(invocation.settings()).map(([setting, sourced]) => ({ setting, ...sourced }));
      return records(rows, { columns: ['setting', 'value', 'source'], id: 'value' });
    }
    return record(show(invocation.profiles.read(chosenName(invocation, args.name))), { id: 'name' });
  },
  examples: [
    { line: 'cloud profile get', help: 'The current profile' },
    { line: 'cloud profile get --explain', help: 'Why does it connect there?' },
  ],
});

function chosenName({ profiles, world, settings: values }: Context, name: string | undefined): string {
  const chosen = name ?? values().profile?.value ?? world.env['CLOUD_PROFILE'] ?? profiles.current();
  if (chosen === undefined)
    throw new UsageError('there is no current profile', { hint: 'cloud profile create, or cloud profile use NAME' });
  return chosen;
}

const create = command({
  summary: 'Make a profile',
  aliases: ['add'],
  description:
    'Asks for what the options leave open, tries the profile against the service, and makes it the current one when there was none. The address, account and key are the options --url, --stor-url, --account and --key-id or --key-file.',
  arguments: { name: one('Name of the profile') },
  options: {
    ...ownOptions,
    noTest: flag('Do not try it'),
    use: flag('Make it the current profile'),
    force: flag('Replace a profile of this name'),
  },
  run: async (invocation) => {
    const { args, options } = invocation;
    const { profiles } = invocation;
    checkProfileName(args.name);
    if (profiles.exists(args.name) && !options['force']) {
      throw new UsageError(`profile "${args.name}" exists`, { hint: `change it with cloud profile edit ${args.name}, or add --force` });
    }
    const values = await complete(invocation, readGiven(invocation, options));
    const profile = { name: args.name, values };
    if (!options['noTest']) await invocation.withProfile(profile).compute.getAccount({ account: values.account ?? 'my' });
    profiles.write(profile);
    if (options['use'] || profiles.current() === undefined) profiles.use(args.name);
    invocation.note(`Created profile ${args.name}${profiles.current() === args.name ? ', the current one' : ''}`);
    return record(show(profile), { id: 'name' });
  },
  examples: [
    { line: 'cloud profile create work', help: 'Asks for everything' },
    {
      line: 'cloud profile create work --url https://cloud.example.com --account jill --key-id SHA256:3n0kmy...',
      help: 'Without questions',
    },
  ],
});

const edit = command({
  summary: 'Change settings of a profile',
  arguments: { name: maybe('Name; the current profile when absent', { values: 'profile' }) },
  options: { ...ownOptions, unset: text('Settings to remove: role,ca', { placeholder: 'LIST' }) },
  run: async (invocation) => {
    const { args, options } = invocation;
    const { unset, ...own } = options;
    const given = readGiven(invocation, own);
    const removed = typeof unset === 'string' ? unset.split(',') : [];
    const unknown = removed.find((name) => !profileSettings.some((known) => known === name));
    if (unknown !== undefined)
      throw new UsageError(`"${unknown}" is not a setting of a profile`, { hint: `there are ${profileSettings.join(', ')}` });
    if (Object.keys(given).length + removed.length === 0) throw new UsageError('nothing to change', { hint: 'cloud profile edit --help' });
    const profile = invocation.profiles.read(args.name ?? invocation.profiles.current() ?? chosenName(invocation, undefined));
    const values = Object.fromEntries(Object.entries({ ...profile.values, ...given }).filter(([name]) => !removed.includes(name)));
    invocation.profiles.write({ name: profile.name, values });
    invocation.note(`Changed profile ${profile.name}`);
    return record(show({ name: profile.name, values }), { id: 'name' });
  },
  examples: [
    { line: 'cloud profile edit work --stor-url https://stor.example.com', help: 'Add the object storage' },
    { line: 'cloud profile edit --unset ca,insecure', help: 'Remove settings of the current profile' },
  ],
});

const use = command({
  summary: 'Make a profile the current one',
  arguments: { name: one('Name of the profile', { values: 'profile' }) },
  run: async ({ args, profiles, note }) => {
    profiles.use(args.name);
    note(`Now using profile ${args.name}`);
    return undefined;
  },
  examples: [
    { line: 'cloud profile use work', help: 'From now on' },
    { line: 'cloud --profile work images list', help: 'For one command only' },
  ],
});

const remove = deleteCommand({
  summary: 'Delete profiles; keys and the cloud itself are not touched',
  argument: 'name',
  help: 'Name of the profile',
  values: 'profile',
  noun: 'profile',
  resolve: async ({ profiles }, name) => ({ id: profiles.read(name).name, label: name }),
  remove: async ({ profiles }, name) => profiles.remove(name),
  examples: [
    { line: 'cloud profile delete old', help: 'Asks first' },
    { line: 'cloud profile delete old older -y', help: 'Without a question' },
  ],
});

export const profile = group({
  summary: 'Profiles: which cloud, which account, which key',
  commands: { list, get, create, edit, use, delete: remove },
});

export const env = command({
  summary: 'Print a profile as shell exports',
  arguments: { profile: maybe('Name; the current profile when absent', { values: 'profile' }) },
  run: async (invocation) => {
    const { args } = invocation;
    const chosen = invocation.profiles.read(chosenName(invocation, args.profile));
    const values = resolveSettings({ options: {}, env: {}, profile: chosen });
    const lines = profileSettings.flatMap((name) => {
      const { env: variable }: Setting = settings[name];
      const sourced = values[name];
      return variable === undefined || sourced === undefined || sourced.source === 'default'
        ? []
        : [`export ${variable}=${quoteShell(sourced.value)}`];
    });
    return plainText(lines.join('\n'));
  },
  examples: [
    { line: 'eval "$(cloud env work)"', help: 'Use a profile in this shell' },
    { line: 'cloud env > .envrc', help: 'Keep it for a folder' },
  ],
});
