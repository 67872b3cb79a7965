import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import type { World } from '../../base/world.ts';
import { homeVariable } from '../../config/paths.ts';
import { settings, type SettingName } from '../../config/settings.ts';

/** The environment of a program that uses its own local services. */

/** Where systems keep the certificate authorities that programs trust. */
const bundles = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem'];

/** Writes a file with the authorities of the system and of the services: the variables that name it replace what a program trusts. */
function writeBundle({ env }: Pick<World, 'env'>, folder: string, ca: string): string {
  const system = [env['SSL_CERT_FILE'], ...bundles].find((file) => file !== undefined && existsSync(file));
  const trusted = system === undefined ? rootCertificates.join('\n') : readFileSync(system, 'utf8').trimEnd();
  const file = join(folder, 'trusted.pem');
  writeFileSync(file, `${trusted}\n${readFileSync(ca, 'utf8')}`, { mode: 0o600, flag: 'wx' });
  return file;
}

type SettingValues = Readonly<Partial<Record<SettingName, string | undefined>>>;

/** Sets the variables of all settings to `values` and removes the others. */
function describeSettings({ env: outer }: Pick<World, 'env'>, values: SettingValues): NodeJS.ProcessEnv {
  const named = Object.entries(settings as Readonly<Record<string, { env?: string; legacy?: readonly string[] }>>);
  const own = named.flatMap(([name, { env, legacy = [] }]) =>
    (env === undefined ? legacy : [env, ...legacy]).map((variable) => [variable, values[name as SettingName]]),
  );
  return { ...outer, ...Object.fromEntries(own), TRITON_PROFILE: 'env' };
}

/** Like `describeSettings`, with configuration, state and data in the folder `home`: no profile has an effect, and nothing of the user changes. */
export function describeOwnSettings(world: Pick<World, 'env'>, values: SettingValues, home: string): NodeJS.ProcessEnv {
  return { ...describeSettings(world, values), [homeVariable]: home };
}

/**
 * Returns the variables by which a program and the older tools reach services, and those for trusted authorities.
 * @param folder where the file of trusted authorities is written
 */
export function describeEnvironment(world: Pick<World, 'env'>, values: SettingValues, folder: string): NodeJS.ProcessEnv {
  const bundle = values.ca === undefined ? undefined : writeBundle(world, folder, values.ca);
  const trust = bundle && {
    NODE_EXTRA_CA_CERTS: values.ca,
    SSL_CERT_FILE: bundle,
    CURL_CA_BUNDLE: bundle,
    REQUESTS_CA_BUNDLE: bundle,
  };
  return { ...describeSettings(world, values), ...trust };
}
