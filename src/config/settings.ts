import { resolve } from 'node:path';
import { UsageError } from '../base/errors.ts';

/** One setting: its sources and its meaning. Options, environment, profiles, help and `--explain` read this record. */
export interface Setting {
  readonly kind: 'text' | 'flag' | 'list' | 'duration' | 'number';
  /** Placeholder of the option's value. */
  readonly placeholder?: string;
  readonly help: string;
  /** Environment variable. */
  readonly env?: string;
  /** Variables of older tools, read when no profile is in use. */
  readonly legacy?: readonly string[];
  /** Sources besides the environment: a profile, a global option, or both. */
  readonly given: 'profile' | 'option' | 'both';
  readonly default?: string;
}

/** All settings, by their name in profiles; options use the name in kebab case. */
export const settings = {
  profile: { kind: 'text', placeholder: 'NAME', help: 'Profile to use instead of the current one', env: 'CLOUD_PROFILE', given: 'option' },
  account: {
    kind: 'text',
    placeholder: 'LOGIN',
    help: 'Account to act on; the account of the profile signs the requests',
    env: 'CLOUD_ACCOUNT',
    legacy: ['TRITON_ACCOUNT', 'SDC_ACCOUNT', 'MANTA_USER'],
    given: 'both',
  },
  user: {
    kind: 'text',
    placeholder: 'LOGIN',
    help: 'Sign as this sub-user of the account',
    env: 'CLOUD_USER',
    legacy: ['TRITON_USER', 'SDC_USER', 'MANTA_SUBUSER'],
    given: 'both',
  },
  role: {
    kind: 'list',
    placeholder: 'NAME,...',
    help: 'Roles to assume instead of the default roles',
    env: 'CLOUD_ROLE',
    legacy: ['MANTA_ROLE'],
    given: 'both',
  },
  keyId: {
    kind: 'text',
    placeholder: 'FINGERPRINT',
    help: 'Key to sign with, by its MD5 or SHA256 fingerprint',
    env: 'CLOUD_KEY_ID',
    legacy: ['TRITON_KEY_ID', 'SDC_KEY_ID', 'MANTA_KEY_ID'],
    given: 'both',
  },
  keyFile: { kind: 'text', placeholder: 'FILE', help: 'Private key to sign with', env: 'CLOUD_KEY_FILE', given: 'both' },
  storKeyId: { kind: 'text', help: 'Different key for the object storage, by fingerprint', env: 'CLOUD_STOR_KEY_ID', given: 'profile' },
  url: {
    kind: 'text',
    placeholder: 'URL',
    help: 'Address of the compute service',
    env: 'CLOUD_URL',
    legacy: ['TRITON_URL', 'SDC_URL'],
    given: 'both',
  },
  storUrl: {
    kind: 'text',
    placeholder: 'URL',
    help: 'Address of the object storage',
    env: 'CLOUD_STOR_URL',
    legacy: ['MANTA_URL'],
    given: 'both',
  },
  apiVersion: {
    kind: 'text',
    placeholder: 'RANGE',
    help: 'API versions to accept from the compute service',
    env: 'CLOUD_API_VERSION',
    default: '~9||~8',
    given: 'both',
  },
  ca: { kind: 'text', placeholder: 'FILE', help: 'Trust the certificate authorities in this PEM file', env: 'CLOUD_CA', given: 'both' },
  insecure: {
    kind: 'flag',
    help: 'Accept any TLS certificate (insecure)',
    env: 'CLOUD_INSECURE',
    legacy: ['TRITON_TLS_INSECURE', 'SDC_TLS_INSECURE', 'MANTA_TLS_INSECURE'],
    given: 'both',
  },
  allowHttp: { kind: 'flag', help: 'Allow plain HTTP to other hosts than this machine', env: 'CLOUD_ALLOW_HTTP', given: 'profile' },
  storEcdsa: { kind: 'flag', help: 'The object storage accepts ECDSA keys', env: 'CLOUD_STOR_ECDSA', given: 'profile' },
  signWindow: {
    kind: 'number',
    help: 'Seconds for which a signature is reused, at most 240',
    env: 'CLOUD_SIGN_WINDOW',
    default: '0',
    given: 'profile',
  },
  timeout: {
    kind: 'duration',
    placeholder: 'DURATION',
    help: 'Maximum time without data from the service; 0 for no limit',
    env: 'CLOUD_TIMEOUT',
    default: '60s',
    given: 'both',
  },
  maxTime: {
    kind: 'duration',
    placeholder: 'DURATION',
    help: 'Maximum time of a whole request; 0 for no limit',
    env: 'CLOUD_MAX_TIME',
    given: 'both',
  },
  retries: {
    kind: 'number',
    placeholder: 'N',
    help: 'Maximum number of retries of a failed request',
    env: 'CLOUD_RETRIES',
    default: '9',
    given: 'both',
  },
  maxRequestsPerSecond: {
    kind: 'number',
    placeholder: 'N',
    help: 'Maximum number of requests per second',
    env: 'CLOUD_MAX_REQUESTS_PER_SECOND',
    given: 'both',
  },
  defaultOutput: {
    kind: 'text',
    help: 'Output format of lists and records without -o, -j or --jq',
    env: 'CLOUD_OUTPUT',
    given: 'profile',
  },
  defaultColumns: {
    kind: 'text',
    help: 'Columns of tables, CSV and TSV by command: images list=name,os;jobs list=id,name',
    env: 'CLOUD_COLUMNS',
    given: 'profile',
  },
  defaultParallel: { kind: 'number', help: 'Number of concurrent transfers without -P', env: 'CLOUD_PARALLEL', given: 'profile' },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;

/** Preferences of the user that apply to every service; all other settings belong to one service and user. */
export const preferences = [
  'timeout',
  'maxTime',
  'retries',
  'maxRequestsPerSecond',
  'defaultOutput',
  'defaultColumns',
  'defaultParallel',
] as const satisfies readonly SettingName[];

/** The preferences among the values of settings. */
export function pickPreferences(values: SettingInputs['options']): SettingInputs['options'] {
  return Object.fromEntries(preferences.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])));
}

export const settingNames = Object.keys(settings) as SettingName[];

/** The settings that a profile may contain. */
export const profileSettings = settingNames.filter((name) => settings[name].given !== 'option');

/** The value of a setting as text, and its source. */
export interface Sourced {
  value: string;
  source: string;
}

export type Sources = Partial<Record<SettingName, Sourced>>;

/** The sources of settings. */
export interface SettingInputs {
  /** Options of the command line. */
  options: Readonly<Partial<Record<SettingName, string>>>;
  env: Readonly<Record<string, string | undefined>>;
  profile: { name: string; values: Readonly<Partial<Record<SettingName, string>>> } | undefined;
  /** The user named this profile for this command: variables set only preferences that the profile lacks. */
  isNamed?: boolean;
}

/** Converts `storUrl` to the name of its option: `stor-url`. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function firstOf(names: readonly string[], env: SettingInputs['env']): Sourced | undefined {
  for (const name of names) {
    const value = env[name];
    if (value !== undefined && value !== '') return { value, source: `environment ${name}` };
  }
  return undefined;
}

/**
 * The values of a setting in descending order of precedence: option, environment, profile, variables of older tools, default. A profile
 * that the user named precedes the environment, which then sets preferences only.
 */
function listValues(name: SettingName, { options, env, profile, isNamed = false }: SettingInputs): (Sourced | undefined)[] {
  const setting: Setting = settings[name];
  const option = options[name];
  const held = setting.given !== 'option' ? profile?.values[name] : undefined;
  const ofProfile = held === undefined ? undefined : { value: held, source: `profile ${profile?.name ?? ''}` };
  const isIgnored = setting.env === undefined || (isNamed && !preferences.some((each) => each === name));
  const ofEnvironment = isIgnored ? undefined : firstOf([setting.env], env);
  return [
    option === undefined ? undefined : { value: option, source: `option --${kebab(name)}` },
    ...(isNamed ? [ofProfile, ofEnvironment] : [ofEnvironment, ofProfile]),
    // The variables of older tools belong together: mixed with a profile, they would sign as another user.
    profile === undefined ? firstOf(setting.legacy ?? [], env) : undefined,
    setting.default === undefined ? undefined : { value: setting.default, source: 'default' },
  ];
}

/** The value of each setting with its source. */
export function resolveSettings(inputs: SettingInputs): Sources {
  const result: Sources = {};
  for (const name of settingNames) {
    const found = listValues(name, inputs).find((value) => value !== undefined);
    if (found) result[name] = found;
  }
  // Both select the key to sign with: a key named for this command must not be compared with the key of the profile.
  const rank = (name: SettingName): number => listValues(name, inputs).findIndex((value) => value !== undefined);
  if (result.keyId && result.keyFile && rank('keyId') !== rank('keyFile')) {
    delete result[rank('keyId') < rank('keyFile') ? 'keyFile' : 'keyId'];
  }
  return result;
}

/** Base directories of relative file names. */
export interface FilePlaces {
  readonly home: string;
  /** The current directory, for options and the environment; called when needed, because it may not exist any more. */
  readonly cwd: () => string;
  /** The folder of the profiles, for settings of a profile. */
  readonly profiles: string;
}

/** Makes the file names in settings absolute; expands `~`, in case no shell has done so. */
export function locateFiles(sources: Sources, { home, cwd, profiles }: FilePlaces): Sources {
  for (const name of ['keyFile', 'ca'] as const) {
    const found = sources[name];
    if (found === undefined || found.value === '' || found.value.startsWith('/')) continue;
    const base = found.source.startsWith('profile ') ? profiles : cwd();
    found.value = resolve(base, found.value.replace(/^~(?=\/|$)/, home));
  }
  return sources;
}

/** The signing account and the target account: `--account` sets the target; the profile or environment sets the signer. */
export function resolveIdentity(inputs: SettingInputs): { signer: string | undefined; target: string | undefined } {
  const signer = resolveSettings({ ...inputs, options: {} }).account?.value ?? inputs.options.account;
  return { signer, target: inputs.options.account ?? signer };
}

/** Reads a flag: 1, true, yes, on; 0, false, no, off, empty or absent. */
export function readFlag(flag: Sourced | undefined): boolean {
  const { value, source } = flag ?? { value: '', source: '' };
  const text = value.toLowerCase();
  if (['1', 'true', 'yes', 'on'].includes(text)) return true;
  if (['0', 'false', 'no', 'off', ''].includes(text)) return false;
  throw new UsageError(`${source}: "${value}" is neither true nor false`);
}

/** Reads a non-negative integer of up to 9 digits. */
export function readCount({ value, source }: Sourced): number {
  if (!/^\d{1,9}$/.test(value)) {
    const [option] = /--\S+/.exec(source) ?? [];
    throw new UsageError(`${source}: "${value}" is not a whole number`, { hint: option && `such as ${option} 4` });
  }
  return Number(value);
}
