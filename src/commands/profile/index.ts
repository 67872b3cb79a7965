import { command, group, type Context } from '../../cli/command.ts';
import { choice, flag, maybe, one, text } from '../../cli/parameters.ts';
import { deleteCommand, listCommand } from '../../cli/shapes.ts';
import { profileSettings, resolveSettings, settings, type Setting } from '../../config/settings.ts';
import { UsageError } from '../../base/errors.ts';
import { createAttempts } from '../../cli/attempts.ts';
import { wantsRows } from '../../cli/rows.ts';
import { record, records, text as plainText, type Output } from '../../output/kinds.ts';
import type { Profile } from '../../config/profiles.ts';
import { readColumns, writeColumns } from '../../cli/output-defaults.ts';
import { readRecord } from '../../cli/from.ts';
import { optional, text as fieldText } from '../../api/fields.ts';
import { editYaml } from '../rbac/editor.ts';
import { quoteShell } from '../../base/quote.ts';
import { assertSameKey, checkValues } from './check.ts';
import { create } from './create.ts';
import { importProfiles } from './import.ts';
import { ownOptions, profileFields, readGiven, showProfile } from './values.ts';

const list = listCommand({
  summary: 'List the profiles',
  aliases: ['ls'],
  columns: ['name', 'current', 'account', 'url', 'storUrl', { key: 'keyId', long: true }],
  id: 'name',
  fetch: (invocation) => {
    const { profiles } = invocation;
    const current = profiles.current();
    const names = profiles.list();
    return createAttempts(invocation, names.length).rows(names, async (name) => ({
      ...showProfile(profiles.read(name)),
      current: name === current,
    }));
  },
  examples: [
    { line: 'cloud profile list', help: 'All profiles; the current one is marked' },
    { line: 'cloud profile list -o name', help: 'Only the names' },
  ],
});

const get = command({
  summary: 'Show a profile',
  aliases: ['show'],
  arguments: { name: maybe('Name; default: the current profile', { values: 'profile' }) },
  options: { explain: flag('Show every effective setting and its source') },
  run: async (invocation) => {
    const { args, options } = invocation;
    if (options.explain) {
      const { profiles } = invocation;
      const chosen = args.name === undefined ? invocation : invocation.withProfile(profiles.read(args.name));
      const rows = Object.entries(chosen.settings()).map(([setting, sourced]) => ({ setting, ...sourced }));
      return records(rows, { columns: ['setting', 'value', 'source'], id: 'value' });
    }
    return record(showProfile(invocation.profiles.read(chosenName(invocation, args.name))), { id: 'name' });
  },
  examples: [
    { line: 'cloud profile get', help: 'The current profile' },
    { line: 'cloud profile get --explain', help: 'Which settings are used, and why?' },
  ],
});

function chosenName({ profiles, world, settings: values }: Context, name: string | undefined): string {
  const chosen = name ?? values().profile?.value ?? world.env['CLOUD_PROFILE'] ?? profiles.current();
  if (chosen === undefined) {
    const [first] = profiles.list();
    throw new UsageError('there is no current profile', {
      hint:
        first === undefined
          ? ['cloud profile create NAME', 'or try everything on this machine: cloud local start']
          : `cloud profile use ${first}`,
    });
  }
  return chosen;
}

/** Shape of the edited file: all settings as texts. */
const fields = Object.fromEntries(profileSettings.map((name) => [name, optional(fieldText(settings[name].help))]));

/** Opens the settings in the user's editor; undefined if the text was not changed. */
async function editProfile(context: Context, name: string): Promise<Output | undefined> {
  const { note, profiles, world } = context;
  const edited = await editYaml(context, {
    name: `profile-${name}`,
    help: `Settings of the profile ${name}; there are ${profileSettings.join(', ')}.`,
    value: profiles.read(name).values,
    save: async (file) => {
      const values: Profile['values'] = await checkValues(world, await readRecord(world, file, fields));
      return profiles.change(name, () => values);
    },
  });
  note(edited ? `Changed profile ${name}` : `Profile ${name} is unchanged`);
  return edited && record(showProfile(edited), { id: 'name' });
}

/** Merges the columns of the named commands into those of others; `images list=` restores the default columns. */
function joinColumns({ defaultColumns: old = '' }: Profile['values'], { defaultColumns: added }: Profile['values']): Profile['values'] {
  if (added === undefined) return {};
  const read = (value: string) => readColumns({ value, source: '--default-columns' });
  return { defaultColumns: writeColumns(new Map([...new Map([...read(old), ...read(added)])].filter(([, columns]) => columns !== ''))) };
}

const edit = command({
  summary: 'Change settings of a profile',
  description: 'Without options, the command opens the settings in $VISUAL or $EDITOR.',
  arguments: { name: maybe('Name; default: the current profile', { values: 'profile' }) },
  options: { ...ownOptions, unset: text('Settings to remove: role,ca', { placeholder: 'LIST' }) },
  fields: profileFields,
  changes: true,
  run: async (invocation) => {
    const { args, options } = invocation;
    const { unset, ...own } = options;
    const given = await checkValues(invocation.world, readGiven(invocation, own));
    const removed = typeof unset === 'string' ? unset.split(',') : [];
    const unknown = removed.find((name) => !profileSettings.some((known) => known === name));
    if (unknown !== undefined)
      throw new UsageError(`"${unknown}" is not a setting of a profile`, { hint: `there are ${profileSettings.join(', ')}` });
    const name = args.name ?? invocation.profiles.current() ?? chosenName(invocation, undefined);
    if (Object.keys(given).length + removed.length === 0) return await editProfile(invocation, name);
    const apply = (values: Profile['values']): Profile['values'] =>
      Object.fromEntries(
        Object.entries({ ...values, ...given, ...joinColumns(values, given) }).filter(
          ([setting, value]) => !removed.includes(setting) && !(setting === 'defaultColumns' && value === ''),
        ),
      );
    await assertSameKey(invocation, name, given, apply(invocation.profiles.read(name).values));
    const changed = invocation.profiles.change(name, apply);
    invocation.note(`Changed profile ${name}`);
    return record(showProfile(changed), { id: 'name' });
  },
  examples: [
    { line: 'cloud profile edit work --stor-url https://stor.example.com', help: 'Add the object storage' },
    { line: 'EDITOR="sed -i s/stor.example/objects.example/" cloud profile edit work', help: 'All settings, in an editor' },
    { line: "cloud profile edit --default-columns 'images list=name,version,id'", help: 'Default columns of a command' },
    { line: 'cloud profile edit --unset ca,insecure', help: 'Remove settings of the current profile' },
  ],
});

const use = command({
  summary: 'Make a profile the current one',
  arguments: { name: one('Name of the profile', { values: 'profile' }) },
  fields: ['name'],
  changes: true,
  run: async (invocation) => {
    const { name } = invocation.args;
    invocation.profiles.use(name);
    invocation.note(`Now using profile ${name}`);
    return wantsRows(invocation) ? record({ name }, { id: 'name' }) : undefined;
  },
  examples: [
    { line: 'cloud profile use work', help: 'For all further commands' },
    { line: 'cloud --profile work images list', help: 'For one command only' },
  ],
});

const remove = deleteCommand({
  summary: 'Delete profiles; keys and the cloud stay unchanged',
  argument: 'name',
  help: 'Name of the profile',
  values: 'profile',
  noun: 'profile',
  read: ({ profiles }) => profiles,
  resolve: (profiles, name) => {
    profiles.require(name);
    return { id: name, label: name };
  },
  remove: async ({ profiles }, name) => profiles.remove(name),
  examples: [
    { line: 'cloud profile delete old', help: 'With confirmation' },
    { line: 'cloud profile delete old older -y', help: 'Without confirmation' },
  ],
});

export const profile = group({
  summary: 'Profiles: which cloud, which account, which key',
  commands: { list, get, create, edit, use, delete: remove, import: importProfiles },
});

/** How a shell sets and removes a variable. */
const posix = { set: (name: string, value: string) => `export ${name}=${quoteShell(value)}`, unset: (name: string) => `unset ${name}` };
const fish = {
  set: (name: string, value: string) => `set -gx ${name} '${value.replaceAll(/[\\']/g, '\\$&')}'`,
  // The removal of a variable that is not set fails.
  unset: (name: string) => `set -eg ${name}; or true`,
};

export const env = command({
  summary: 'Print a profile as shell exports',
  description:
    'The exports include CLOUD_PROFILE, so that a setting that the profile lacks does not come from the current profile. They take precedence over cloud profile use, and --profile over them.',
  arguments: { profile: maybe('Name; default: the current profile', { values: 'profile' }) },
  options: {
    shell: choice('Shell that reads the output; default sh', ['sh', 'bash', 'zsh', 'fish'], { placeholder: 'NAME' }),
  },
  run: async (invocation) => {
    const { args, options } = invocation;
    const { set, unset } = options.shell === 'fish' ? fish : posix;
    const chosen = invocation.profiles.read(chosenName(invocation, args.profile));
    const values = resolveSettings({ options: {}, env: {}, profile: chosen });
    const lines = profileSettings.flatMap((name) => {
      const { env: variable, kind, default: usual }: Setting = settings[name];
      if (variable === undefined) return [];
      const sourced = values[name];
      if (sourced !== undefined && sourced.source !== 'default') return [set(variable, sourced.value)];
      // A setting that the profile lacks must not come from earlier exports, nor, by CLOUD_PROFILE, from the current profile.
      if (kind === 'flag' || usual !== undefined) return [set(variable, usual ?? 'false')];
      return [unset(variable)];
    });
    return plainText([set('CLOUD_PROFILE', chosen.name), ...lines].join('\n'));
  },
  examples: [
    { line: 'eval "$(cloud env work)"', help: 'Use a profile in this shell' },
    { line: 'cloud env work --shell fish | source', help: 'In fish' },
    { line: 'cloud env > .envrc', help: 'Store the settings for a folder' },
  ],
});
