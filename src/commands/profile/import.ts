import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { command, type Context } from '../../cli/command.ts';
import { flag, some } from '../../cli/parameters.ts';
import { readJsonFile } from '../../config/files.ts';
import { checkProfileName, type Profile } from '../../config/profiles.ts';
import { resolveSettings } from '../../config/settings.ts';
import { unlessNoEntry, NotFoundError } from '../../base/errors.ts';
import { records } from '../../output/kinds.ts';
import type { World } from '../../base/world.ts';

/** Name of the profile that is made from environment variables. */
const environmentName = 'env';

interface Found extends Profile {
  readonly from: string;
}

/** The settings in the environment variables of older tools. */
function readEnvironment({ env }: Pick<World, 'env'>): Profile['values'] {
  const legacy = Object.fromEntries(Object.entries(env).filter(([name]) => /^(?:TRITON|SDC|MANTA)_/.test(name)));
  const sources = Object.entries(resolveSettings({ options: {}, env: legacy, profile: undefined }));
  return Object.fromEntries(
    sources.filter(([name, { source }]) => source !== 'default' && name !== 'role').map(([name, { value }]) => [name, value]),
  );
}

/** The address of the object storage from the environment, if that is for the same account and key. */
function findStorage(values: Profile['values'], environment: Profile['values']): Profile['values'] {
  const isSame = values.account === environment.account && values.keyId === environment.keyId;
  return isSame && environment.storUrl !== undefined ? { storUrl: environment.storUrl } : {};
}

/** Reads a profile of the older tool: `{url, account, keyId, user, insecure}`. */
function readOlder(file: string): Profile['values'] {
  const content = readJsonFile(file, 'any') ?? {};
  const read = (name: string): string | undefined =>
    typeof content[name] === 'string' && content[name] !== '' ? content[name] : undefined;
  const texts = (['url', 'account', 'keyId', 'user'] as const).flatMap((name) => {
    const value = read(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(texts), ...(content['insecure'] === true && { insecure: 'true' }) };
}

function listFiles(folder: string): string[] {
  const files = unlessNoEntry(() => readdirSync(folder)) ?? [];
  return files.filter((file) => file.endsWith('.json')).sort();
}

/** Profiles of older tools: those in `~/.triton`, and one from the environment. */
function findProfiles({ world }: Pick<Context, 'world'>): Found[] {
  const folder = join(world.home, '.triton', 'profiles.d');
  const environment = readEnvironment(world);
  const kept = listFiles(folder).map((file) => {
    const from = join(folder, file);
    const values = readOlder(from);
    return { name: file.slice(0, -'.json'.length), from, values: { ...values, ...findStorage(values, environment) } };
  });
  const isUseful = environment.url !== undefined || environment.storUrl !== undefined;
  return [...kept, ...(isUseful ? [{ name: environmentName, from: 'environment', values: environment }] : [])];
}

/** Name of the older tool's current profile. */
function findCurrent({ world }: Pick<Context, 'world'>): string | undefined {
  const name = readJsonFile(join(world.home, '.triton', 'config.json'), 'any')?.['profile'];
  return typeof name === 'string' ? name : undefined;
}

/** `cloud profile import`. */
export const importProfiles = command({
  summary: 'Import profiles of other tools',
  description: `Reads the profiles in ~/.triton. Also creates a profile "${environmentName}" from the TRITON_*, SDC_* and MANTA_* variables if they name a service. The files and variables stay unchanged. Existing profiles are skipped unless --force is given.`,
  arguments: { name: some('Profiles to import; default: all') },
  options: { force: flag('Replace existing profiles of the same names') },
  run: async (invocation) => {
    const { args, options, profiles, note } = invocation;
    const all = findProfiles(invocation);
    const missing = args.name.find((name) => !all.some((each) => each.name === name));
    if (all.length === 0 || missing !== undefined) {
      const what =
        missing === undefined
          ? 'there are no profiles in ~/.triton, and no such variables in the environment'
          : `there is no profile "${missing}" to import`;
      throw new NotFoundError(what, {
        hint: all.length === 0 ? 'cloud profile create NAME' : `there are: ${all.map(({ name }) => name).join(', ')}`,
      });
    }
    const chosen = all.filter(({ name }) => args.name.length === 0 || args.name.includes(name));
    const rows = chosen.map(({ name, from, values }) => {
      checkProfileName(name);
      const isThere = profiles.exists(name);
      const isTaken = isThere && !options.force;
      if (!isThere) profiles.create({ name, values });
      else if (!isTaken) profiles.write({ name, values });
      return { name, status: isTaken ? 'exists already' : 'imported', from, ...values };
    });
    const current = findCurrent(invocation) ?? chosen[0]?.name;
    const made = rows.filter(({ status }) => status === 'imported').map(({ name }) => name);
    if (profiles.current() === undefined && current !== undefined && made.includes(current)) {
      profiles.use(current);
      note(`The current profile is ${current}`);
    }
    return records(rows, {
      columns: ['name', 'status', 'account', 'url', { key: 'storUrl', long: true }, { key: 'keyId', long: true }, 'from'],
      id: 'name',
    });
  },
  examples: [
    { line: 'cloud profile import', help: 'All profiles' },
    { line: 'cloud profile import work --force', help: 'One of them, replacing the profile of that name' },
  ],
});
