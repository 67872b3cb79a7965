import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The release as it is built and installed, for the proofs of installations and upgrades. */

export const root = resolve(import.meta.dirname, '../..');
const packageOf = (folder: string): { version: string } => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as never;
export const { version } = packageOf(root);
export const isRoot = process.getuid?.() === 0;

/** The environment of a user who installs: nothing of the tool that runs the tests. */
export function createEnvironment(home: string, more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|CLOUD_|XDG_|INIT_CWD$|NODE_(?!EXTRA_CA_CERTS$))/.test(name));
  return { ...Object.fromEntries(kept), HOME: home, npm_config_update_notifier: 'false', npm_config_fund: 'false', ...more };
}

/** A clone of this repository with the packages that building needs; of another version when one is given. */
export function clone(path: string, ofVersion = version): string {
  execFileSync('git', ['clone', '--quiet', '--no-tags', root, path]);
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'));
  // .gitignore has it as a directory, and a link is none.
  appendFileSync(join(path, '.git/info/exclude'), 'node_modules\n');
  if (ofVersion !== version) writeFileSync(join(path, 'package.json'), JSON.stringify({ ...packageOf(path), version: ofVersion }, null, 2));
  return path;
}

/** Builds tarball and Debian package in a clone by the commands that a release is made with. */
export function buildPackages(path: string, before = 'umask 022', env: Record<string, string> = {}): void {
  const lines = `${before}; npm pack --silent; npm run --silent build:deb -- .`;
  execFileSync('bash', ['-euc', lines], { cwd: path, env: createEnvironment(dirname(path), env), stdio: 'pipe' });
}

/** The file in a folder that ends with these characters. */
export function findFile(folder: string, end: string): string {
  const name = readdirSync(folder).find((each) => each.endsWith(end));
  if (name === undefined) throw new Error(`${folder} has no file *${end}`);
  return join(folder, name);
}

/** The dpkg command for a system below a folder, which is made when it is not there: empty but for what `cloud` depends on. */
export function createDebianRoot(system: string): string {
  const records = join(system, 'var/lib/dpkg');
  const command = `dpkg --root="${system}" --log=/dev/null`;
  if (existsSync(records)) return command;
  for (const name of ['info', 'updates', 'triggers']) mkdirSync(join(records, name), { recursive: true });
  const present = ['nodejs 20.19.2', 'libc6 2.36', 'libgcc-s1 12.2'].map((line) => {
    const [name, release] = line.split(' ');
    return `Package: ${name}\nStatus: install ok installed\nArchitecture: all\nVersion: ${release}\nMaintainer: nobody\nDescription: present\n`;
  });
  writeFileSync(join(records, 'status'), present.join('\n'));
  writeFileSync(join(records, 'available'), '');
  return command;
}

/** Lets a line of a shell be run as root, or as who seems to be. */
export const asRoot = isRoot ? [] : ['unshare', '--user', '--map-root-user'];
