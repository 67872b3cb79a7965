import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Outcome, Sandbox } from './sandbox.ts';

/**
 * The clients that have been published for these services, where they are installed: `npm i --ignore-scripts --prefix DIR $(cat .ci/published)`, then
 * `CLOUD_PUBLISHED=DIR`. Without it the tests that need them do not run.
 */

const modules = join(process.env['CLOUD_PUBLISHED'] ?? '', 'node_modules');
/** The package of each: an older release of one has a name of its own. */
export type Published = 'triton' | 'manta' | 'smartdc' | 'smartdc-8';

/** The programs of a package that is one program for each command; none where it is not installed. */
export function listPrograms(name: Exclude<Published, 'triton'>): string[] {
  const folder = join(modules, name, 'bin');
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** Name and version of one of the packages. */
export function readPublishedVersion(name: Published): string {
  const { version } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')) as { version: string };
  return `${name.replace(/-\d+$/, '')} ${version}`;
}

/** Makes the published clients known to a user: what runs a line of bash in which they are commands. */
export async function installPublished(
  { home, local, shell }: Sandbox,
  names: readonly Published[] = ['triton', 'manta'],
): Promise<(line: string) => Promise<Outcome>> {
  const missing = names.filter((name) => !existsSync(join(modules, name)));
  if (missing.length > 0) throw new Error(`not installed in ${modules}: ${missing.join(', ')}`);
  const key = join(home, '.ssh', 'key');
  mkdirSync(join(home, '.ssh'), { mode: 0o700 });
  copyFileSync(local.keyFile, key);
  chmodSync(key, 0o600);
  await shell('ssh-keygen -y -f .ssh/key > .ssh/key.pub');
  const prelude = [
    `export TRITON_PROFILE=env TRITON_URL='${local.computeUrl}' TRITON_ACCOUNT='${local.account}' TRITON_KEY_ID='${local.keyId}'`,
    `export MANTA_URL='${local.storUrl}' MANTA_USER='${local.account}' MANTA_KEY_ID='${local.keyId}'`,
    `export NODE_EXTRA_CA_CERTS='${local.caFile}' NODE_NO_WARNINGS=1`,
    `export SDC_URL='${local.computeUrl}' SDC_ACCOUNT='${local.account}' SDC_KEY_ID='${local.keyId}'`,
    ...(['manta', 'smartdc', 'smartdc-8'] as const).flatMap((each) =>
      listPrograms(each).map(
        (name) => `${each === 'smartdc-8' ? 'older-' : ''}${name}() { '${process.execPath}' '${join(modules, each, 'bin', name)}' "$@"; }`,
      ),
    ),
    `triton() { '${process.execPath}' '${join(modules, 'triton', 'bin', 'triton')}' "$@"; }`,
  ].join('\n');
  return (line) => shell(`${prelude}\n${line}`);
}
