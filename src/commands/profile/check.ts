import { existsSync } from 'node:fs';
import { splitList } from '../../base/split-list.ts';
import type { Context } from '../../cli/command.ts';
import { assertNoCredentials } from '../../client/transport.ts';
import { quoteShell } from '../../base/quote.ts';
import type { World } from '../../base/world.ts';
import { UsageError } from '../../base/errors.ts';
import { resolvePath } from '../../cli/input.ts';
import { checkFormat, readColumns } from '../../cli/output-defaults.ts';
import { findCommand } from '../../cli/tree.ts';
import type { Profile } from '../../config/profiles.ts';
import { kebab, readCount, type SettingName } from '../../config/settings.ts';
import { findField, createUnknownFieldError } from '../../output/rows.ts';
import { parseLimit } from '../../output/units.ts';
import { nouns } from '../index.ts';

type Check = (value: string, option: string) => void;
type LateCheck = (value: string, option: string) => void | Promise<void>;

function refuse(option: string, value: string, what: string, hint: string): never {
  throw new UsageError(`${option}: "${value}" ${what}`, { hint });
}

const checkUrl: Check = (value, option) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  // Checked first: the value is not shown.
  if (url !== undefined) assertNoCredentials(url, option);
  const isWeb = url !== undefined && /^https?:$/.test(url.protocol) && url.hostname !== '';
  if (!isWeb) refuse(option, value, 'is not the URL of a service', `${option} https://cloud.example.com`);
};

const checkLogin: Check = (value, option) => {
  if (!/^[A-Za-z0-9][\w.@+-]*$/.test(value))
    refuse(option, value, 'is not a login', 'a login consists of letters, digits and _ . @ + -, without spaces or slashes');
};

const checkKeyId: Check = (value, option) => {
  const isFingerprint = /^(?:MD5:)?(?:[\da-f]{2}:){15}[\da-f]{2}$|^[\da-f]{32}$|^SHA256:[A-Za-z0-9+/]{43}=?$/i.test(value);
  if (!isFingerprint)
    refuse(option, value, 'is not a fingerprint', 'list the keys of this machine and their fingerprints: cloud keys local');
};

const checkFile: Check = (value, option) => {
  if (!existsSync(value)) refuse(option, value, 'does not exist', `${option} FILE with the path of an existing file`);
};

const checkNumber: Check = (value, option) => void readCount({ value, source: option });

/** @throws {UsageError} for a word that is not a command, and for a column that is not a field of the command's result */
async function checkColumns(text: string): Promise<void> {
  const option = '--default-columns';
  for (const [command, columns] of readColumns({ value: text, source: option })) {
    const { node, rest } = await findCommand(nouns, command.split(' '));
    if (node?.kind !== 'command' || rest.length > 0)
      refuse(option, command, 'is not a command that shows records', `such as ${option} 'images list=name,os'`);
    const { fields = [] } = node;
    const names = fields.length === 0 || columns === 'all' ? [] : splitList(columns);
    const unknown = names.find((name) => findField(name, fields) === undefined);
    if (unknown !== undefined) throw createUnknownFieldError(`${option}: ${command}`, unknown, fields);
  }
}

const checks: Partial<Record<SettingName, LateCheck>> = {
  account: checkLogin,
  user: (value, option) => (value === '' ? undefined : checkLogin(value, option)),
  keyId: checkKeyId,
  storKeyId: checkKeyId,
  keyFile: checkFile,
  ca: checkFile,
  url: checkUrl,
  storUrl: checkUrl,
  timeout: (value) => void parseLimit(value),
  maxTime: (value) => void parseLimit(value),
  retries: checkNumber,
  maxRequestsPerSecond: checkNumber,
  defaultOutput: (value, option) => void checkFormat({ value, source: option }),
  defaultColumns: (value) => checkColumns(value),
  defaultParallel: (value, option) => {
    checkNumber(value, option);
    if (Number(value) < 1 || Number(value) > 256) refuse(option, value, 'is not a number from 1 to 256', `such as ${option} 16`);
  },
  signWindow: (value, option) => {
    checkNumber(value, option);
    if (Number(value) > 240) refuse(option, value, 'is more than 240 seconds', `services accept signatures for 300 seconds: ${option} 240`);
  },
};

/** Checks the values of a profile, and makes paths of files absolute. @throws {UsageError} for an invalid value */
export async function checkValues(world: World, values: Profile['values']): Promise<Profile['values']> {
  const stored = { ...values };
  for (const name of ['keyFile', 'ca'] as const) {
    const file = stored[name];
    if (file !== undefined) stored[name] = resolvePath(world, file);
  }
  for (const [name, value] of Object.entries(stored) as [SettingName, string][]) await checks[name]?.(value, `--${kebab(name)}`);
  return stored;
}

/**
 * Rejects an edit that names a key while the profile keeps the other setting that names one: no request could be signed. Files that cannot
 * be read without a passphrase are not compared.
 * @param given the changed settings
 * @param values all settings after the change
 * @throws {UsageError}
 */
export async function assertSameKey(
  { listKeyNames }: Context,
  name: string,
  given: Profile['values'],
  values: Profile['values'],
): Promise<void> {
  const { keyId, keyFile } = values;
  if (keyId === undefined || keyFile === undefined || (given.keyId === undefined) === (given.keyFile === undefined)) return;
  const names = await listKeyNames({ keyFile });
  if (names.includes(keyFile) || (await listKeyNames({ keyId })).some((each) => names.includes(each))) return;
  const [changed, kept] = given.keyId === undefined ? (['keyFile', 'keyId'] as const) : (['keyId', 'keyFile'] as const);
  const option = `--${kebab(changed)}`;
  throw new UsageError(`${option}: the profile also has the ${kebab(kept)} ${values[kept]}, which is another key`, {
    hint: `cloud profile edit ${quoteShell(name)} ${option} ${quoteShell(values[changed] ?? '')} --unset ${kept}`,
  });
}
