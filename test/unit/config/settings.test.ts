import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findPaths } from '../../../src/config/paths.ts';
import { openProfiles } from '../../../src/config/profiles.ts';
import {
  preferences,
  readFlag,
  resolveIdentity,
  resolveSettings,
  settingNames,
  settings,
  type SettingInputs,
} from '../../../src/config/settings.ts';

const profile = { name: 'work', values: { url: 'https://profile', account: 'jill', keyId: 'aa', keyFile: '/k' } };
const resolve = (inputs: Partial<SettingInputs>) => resolveSettings({ options: {}, env: {}, profile: undefined, ...inputs });

describe('where a setting comes from', () => {
  test('option, environment, profile, default: in this order, and each is named', () => {
    const env = { CLOUD_URL: 'https://env' };
    expect(resolve({ options: { url: 'https://option' }, env, profile }).url).toEqual({ value: 'https://option', source: 'option --url' });
    expect(resolve({ env, profile }).url).toEqual({ value: 'https://env', source: 'environment CLOUD_URL' });
    expect(resolve({ profile }).url).toEqual({ value: 'https://profile', source: 'profile work' });
    expect(resolve({}).url).toBeUndefined();
    expect(resolve({}).retries).toEqual({ value: '9', source: 'default' });
    expect(resolve({ env: { CLOUD_URL: '' }, profile }).url?.source).toBe('profile work');
  });

  test('variables of older tools count only when no profile is in use', () => {
    const env = { TRITON_URL: 'https://old', SDC_URL: 'https://older', SDC_ACCOUNT: 'bob', MANTA_USER: 'eve' };
    expect(resolve({ env }).url).toEqual({ value: 'https://old', source: 'environment TRITON_URL' });
    expect(resolve({ env }).account?.value).toBe('bob');
    expect(resolve({ env, profile }).account?.value).toBe('jill');
  });

  test('a key given for one command replaces the one of the profile, however either is named', () => {
    expect(resolve({ options: { keyFile: '/other' }, profile })).toMatchObject({ keyFile: { value: '/other' } });
    expect(resolve({ options: { keyFile: '/other' }, profile }).keyId).toBeUndefined();
    expect(resolve({ env: { CLOUD_KEY_ID: 'bb' }, profile }).keyFile).toBeUndefined();
    expect(resolve({ profile })).toMatchObject({ keyId: { value: 'aa' }, keyFile: { value: '/k' } });
  });

  test('--account names whose resources are meant; the profile or environment says who signs', () => {
    const identity = (inputs: Partial<SettingInputs>) => resolveIdentity({ options: {}, env: {}, profile: undefined, ...inputs });
    expect(identity({ profile })).toEqual({ signer: 'jill', target: 'jill' });
    expect(identity({ profile, options: { account: 'bob' } })).toEqual({ signer: 'jill', target: 'bob' });
    expect(identity({ profile, env: { CLOUD_ACCOUNT: 'eve' } })).toEqual({ signer: 'eve', target: 'eve' });
    expect(identity({ options: { account: 'bob' } })).toEqual({ signer: 'bob', target: 'bob' });
  });

  describe('with a profile that --profile names', () => {
    const options = { profile: 'work' };
    const named = (inputs: Partial<SettingInputs>) => resolve({ options, profile, isNamed: true, ...inputs });

    test('no variable changes which service and user a command is for, not even where the profile has no value', () => {
      const all = settingNames.filter((name) => !preferences.some((each) => each === name) && name !== 'profile');
      const env = Object.fromEntries(all.map((name) => [settings[name].env, 'other']));
      const usual = { retries: '9', timeout: '60s', signWindow: '0', apiVersion: '~9||~8' };
      const values = Object.fromEntries(Object.entries(named({ env })).map(([name, { value }]) => [name, value]));
      expect(values).toEqual({ profile: 'work', ...profile.values, ...usual });
      expect(named({ env, options: { ...options, url: 'https://option' } }).url?.source).toBe('option --url');
      expect(resolveIdentity({ options, env, profile, isNamed: true })).toEqual({ signer: 'jill', target: 'jill' });
    });

    test('variables set the preferences that it lacks', () => {
      const env = { CLOUD_RETRIES: '3', CLOUD_OUTPUT: 'json' };
      const own = { ...profile, values: { ...profile.values, retries: '5' } };
      expect(named({ env, profile: own })).toMatchObject({
        retries: { value: '5', source: 'profile work' },
        defaultOutput: { value: 'json', source: 'environment CLOUD_OUTPUT' },
      });
    });
  });

  test('a flag is true or false and nothing else', () => {
    expect(['1', 'true', 'YES', 'on', '0', 'False', 'no', ''].map((value) => readFlag({ value, source: '' }))).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(() => readFlag({ value: 'maybe', source: 'environment CLOUD_INSECURE' })).toThrow(
      'environment CLOUD_INSECURE: "maybe" is neither true nor false',
    );
  });
});

test('folders follow XDG; a relative path there is ignored', () => {
  const paths = findPaths({ XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: 'relative', XDG_DATA_HOME: '/d/' }, '/home/jill/');
  expect([paths.config, paths.state, paths.cache]).toEqual(['/c/cloud', '/home/jill/.local/state/cloud', '/home/jill/.cache/cloud']);
  expect([paths.data, paths.ssh, findPaths({}, '/').ssh]).toEqual(['/d/cloud', '/home/jill/.ssh', '/.ssh']);
  const own = findPaths({ XDG_CONFIG_HOME: '/c', CLOUD_HOME: '/own/' }, '/home/jill');
  expect([own.config, own.state, own.cache, own.data]).toEqual(['/own/config', '/own/state', '/own/cache', '/own/data']);
  expect([own.ssh, findPaths({ CLOUD_HOME: 'own' }, '/home/jill').config]).toEqual(['/home/jill/.ssh', '/home/jill/.config/cloud']);
});

describe('profiles on disk', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cloud-profiles-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('written, read, used, removed; for their owner only; nothing temporary is left', () => {
    const profiles = openProfiles(join(folder, 'config'));
    expect([profiles.list(), profiles.current()]).toEqual([[], undefined]);
    profiles.write({ name: 'work', values: { url: 'https://x', insecure: 'true', signWindow: '60' } });
    expect(profiles.read('work')).toEqual({ name: 'work', values: { url: 'https://x', insecure: 'true', signWindow: '60' } });
    profiles.use('work');
    expect(profiles.current()).toBe('work');
    expect(statSync(join(folder, 'config/profiles/work.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'config')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder, 'config/profiles'))).toEqual(['work.json']);
    profiles.remove('work');
    expect([profiles.list(), profiles.current()]).toEqual([[], undefined]);
  });

  test('what is wrong is named with its file', () => {
    const profiles = openProfiles(folder);
    mkdirSync(join(folder, 'profiles'));
    writeFileSync(join(folder, 'profiles/a.json'), '{"url": ["x"]}');
    expect(() => profiles.read('a')).toThrow('"url" is not a string, number or boolean');
    expect(() => profiles.read('../a')).toThrow('a name consists of up to 64 letters');
    expect(() => profiles.use('b')).toThrow('profile "b" does not exist');
  });
});
