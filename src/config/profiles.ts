import { existsSync, readdirSync, rmSync } from 'node:fs';
import { unlessNoEntry, UsageError } from '../base/errors.ts';
import { lazily } from '../base/lazily.ts';
import { withLock } from '../base/lock.ts';
import { nearest } from '../base/nearest.ts';
import { findConfigProblem } from '../base/private-files.ts';
import { readJsonFile, writeFileAtomically } from './files.ts';
import { profileSettings, settings, type SettingInputs, type SettingName } from './settings.ts';

/** A named set of settings: an account of a cloud and how to reach it. */
export interface Profile {
  name: string;
  values: Partial<Record<SettingName, string>>;
}

/** The profiles of a user: one JSON file for each, and a file that names the current one. */
export interface Profiles {
  list(): string[];
  /** Name of the current profile. */
  current(): string | undefined;
  /** @throws {UsageError} when the profile does not exist. */
  read(name: string): Profile;
  exists(name: string): boolean;
  /** Checks that a profile exists, whatever its file contains. @throws {UsageError} when it does not */
  require(name: string): void;
  write(profile: Profile): void;
  /** Creates a new profile. @throws {UsageError} when its file exists */
  create(profile: Profile): void;
  /** Changes the values of a profile under a lock. @throws {UsageError} when it does not exist. */
  change(name: string, change: (values: Profile['values']) => Profile['values']): Profile;
  use(name: string): void;
  remove(name: string): void;
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** @throws {UsageError} for a name that is not valid as a file name. */
export function checkProfileName(name: string): void {
  if (namePattern.test(name)) return;
  throw new UsageError(`profile "${name}": a name consists of up to 64 letters, digits, dots, dashes and underscores`);
}

function readValues(file: string, content: Readonly<Record<string, unknown>>): Profile['values'] {
  const values: Profile['values'] = {};
  for (const [key, value] of Object.entries(content)) {
    const name = profileSettings.find((candidate) => candidate === key);
    if (name === undefined) {
      throw new UsageError(`${file}: unknown setting "${key}"`, { hint: `a profile may have ${profileSettings.join(', ')}` });
    }
    if (!['string', 'number', 'boolean'].includes(typeof value))
      throw new UsageError(`${file}: "${key}" is not a string, number or boolean`);
    values[name] = String(value);
  }
  return values;
}

function writeValues(values: Profile['values']): Record<string, unknown> {
  const typed = (name: SettingName, value: string): unknown => {
    if (settings[name].kind === 'flag') return value === 'true';
    return settings[name].kind === 'number' ? Number(value) : value;
  };
  return Object.fromEntries(profileSettings.flatMap((name) => (values[name] === undefined ? [] : [[name, typed(name, values[name])]])));
}

function createAbsentError(name: string, names: readonly string[]): UsageError {
  const close = nearest(name, names);
  const there = `there are: ${names.join(', ')}`;
  const hint =
    names.length === 0 ? 'create one: cloud profile create NAME' : close === undefined ? there : [`did you mean ${close}?`, there];
  return new UsageError(`profile "${name}" does not exist`, { hint });
}

/**
 * Opens the profiles in a configuration folder. If another user could have written them, there are none.
 * @param reportUnused called with the reason when the folder cannot be used
 */
export function openProfiles(configDir: string, reportUnused: (problem: string) => void = () => undefined): Profiles {
  const folder = `${configDir}/profiles`;
  const choice = `${configDir}/config.json`;
  /** Checks the folder once. Callers that need a profile report the problem. */
  const findProblem = lazily(() => {
    const problem = findConfigProblem(configDir);
    if (problem !== undefined) reportUnused(problem);
    return problem;
  });
  const fileOf = (name: string): string => {
    checkProfileName(name);
    const problem = findProblem();
    if (problem !== undefined) throw new UsageError(`profile "${name}": ${problem}`);
    return `${folder}/${name}.json`;
  };

  function list(): string[] {
    if (findProblem() !== undefined) return [];
    const files = unlessNoEntry(() => readdirSync(folder)) ?? [];
    return files
      .filter((file) => file.endsWith('.json'))
      .map((file) => file.slice(0, -'.json'.length))
      .sort();
  }

  function read(name: string): Profile {
    const file = fileOf(name);
    const content = readJsonFile(file, 'config');
    if (content === undefined) throw createAbsentError(name, list());
    return { name, values: readValues(file, content) };
  }

  function requireFile(name: string): string {
    const file = fileOf(name);
    if (!existsSync(file)) throw createAbsentError(name, list());
    return file;
  }

  function current(): string | undefined {
    if (findProblem() !== undefined) return undefined;
    const name = readJsonFile(choice, 'config')?.['profile'];
    return typeof name === 'string' ? name : undefined;
  }

  function write({ name, values }: Profile): void {
    writeFileAtomically(fileOf(name), `${JSON.stringify(writeValues(values), null, 2)}\n`);
  }

  return {
    list,
    current,
    read,
    exists: (name) => list().includes(name),
    require: (name) => void requireFile(name),
    write,
    create: (profile) =>
      withLock(`${fileOf(profile.name)}.lock`, () => {
        // On a case-insensitive file system, names that differ in case share one file, which is listed under one of them only.
        if (existsSync(fileOf(profile.name)))
          throw new UsageError(`profile "${profile.name}" has the same file as another profile on this file system`, {
            hint: `choose another name; there are: ${list().join(', ')}`,
          });
        write(profile);
      }),
    change: (name, change) =>
      withLock(`${fileOf(name)}.lock`, () => {
        const profile = { name, values: change(read(name).values) };
        write(profile);
        return profile;
      }),
    use: (name) => {
      read(name);
      writeFileAtomically(choice, `${JSON.stringify({ profile: name }, null, 2)}\n`);
    },
    remove: (name) => {
      rmSync(requireFile(name));
      if (current() === name) rmSync(choice);
    },
  };
}

/** The sources of the settings of a command line. An empty name of a profile counts as none. */
export function collectInputs(
  profiles: Pick<Profiles, 'current' | 'read'>,
  { options, env }: Pick<SettingInputs, 'options' | 'env'>,
): SettingInputs {
  const isNamed = (options.profile ?? '') !== '';
  const chosen = options.profile ?? env['CLOUD_PROFILE'];
  const name = chosen === undefined || chosen === '' ? profiles.current() : chosen;
  return { options, env, profile: name === undefined ? undefined : profiles.read(name), isNamed };
}
