import { lstatSync, mkdirSync, copyFileSync, chmodSync, readlinkSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';

/**
 * The part of the machine that tasks in a sandbox see: programs, libraries and the few files of /etc that these need, read-only. Apart from
 * this, the root of the sandbox has only the zone, and a /proc and a /dev of its own.
 */

/** A file or directory of the machine, and its read-only path for tasks. */
export interface ReadOnlyBind {
  readonly source: string;
  readonly target: string;
}

/** The part of the machine that every sandbox of a service shows. */
export interface VisibleSystem {
  readonly binds: readonly ReadOnlyBind[];
  /** Symbolic links as `[target, path]`. */
  readonly links: readonly (readonly [string, string])[];
  /** Directory of the files that the service created for its sandboxes. */
  readonly kit: string;
  /** Directories of programs for tasks, in addition to those of the system. */
  readonly programs: readonly string[];
}

/** Directories that may be links into /usr. */
const merged = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'];

/** What programs of /usr read in /etc. None of it has secrets, accounts or addresses. */
const configuration = [
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'alternatives',
  'localtime',
  'timezone',
  'ssl/certs',
  'ssl/openssl.cnf',
  'pki/tls/certs',
  'pki/tls/openssl.cnf',
  'pki/ca-trust/extracted',
  'crypto-policies',
  'fonts',
  'magic',
  'mime.types',
  'protocols',
  'services',
  'perl',
  'python3',
  'terminfo',
  'ImageMagick-6',
  'ImageMagick-7',
];

/** User id and group id of tasks inside the sandbox. */
export const taskUser = 1000;

/** Files of /etc that the service generates, the same on every machine. */
const ownConfiguration: Readonly<Record<string, string>> = {
  passwd: `root:x:0:0:root:/nonexistent:/usr/sbin/nologin\ntask:x:${taskUser}:${taskUser}:task:/tmp/home:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n`,
  group: `root:x:0:\ntask:x:${taskUser}:\nnogroup:x:65534:\n`,
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
  hosts: '127.0.0.1 localhost\n::1 localhost\n',
};

/** Path of the runner's shell inside the sandbox. */
export const runnerShell = '/.runner';

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** True if `path` is `folder` or below it. */
function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`));
}

/**
 * Directory of the Node.js that runs this service, for tasks without a sandbox; undefined if it is in /usr, where tasks look for programs
 * anyway.
 */
export function findNodeFolder(executable: string): string | undefined {
  const program = realpathSync(executable);
  return isWithin('/usr', program) ? undefined : dirname(program);
}

/**
 * How tasks get the Node.js that runs this service if it is not in /usr: its installation directory, or the program alone if that directory
 * may contain something else.
 */
export function bindNode(executable: string, kept: readonly string[]): { binds: readonly ReadOnlyBind[]; programs: readonly string[] } {
  const program = realpathSync(executable);
  // If the service is a single executable, it contains Node.js but tasks cannot use it as `node`.
  if (isWithin('/usr', program) || !basename(program).startsWith('node')) return { binds: [], programs: [] };
  const prefix = dirname(dirname(program));
  const isInstallation = ['bin/node', 'include/node/node.h', 'lib/node_modules/npm'].every((name) => exists(join(prefix, name)));
  const holdsOthers = kept.some((path) => isWithin(prefix, path));
  const programs = ['/opt/node/bin'];
  return isInstallation && !holdsOthers
    ? { binds: [{ source: prefix, target: '/opt/node' }], programs }
    : { binds: [{ source: program, target: '/opt/node/bin/node' }], programs };
}

function findMerged(): Pick<VisibleSystem, 'binds' | 'links'> {
  const binds: ReadOnlyBind[] = [{ source: '/usr', target: '/usr' }];
  const links: [string, string][] = [];
  for (const name of merged) {
    const path = `/${name}`;
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) links.push([readlinkSync(path), path]);
    else if (stat?.isDirectory()) binds.push({ source: path, target: path });
  }
  return { binds, links };
}

/** Creates the files that all sandboxes of a service share. */
function prepareKit(kit: string, bash: string): void {
  rmSync(kit, { recursive: true, force: true });
  mkdirSync(kit, { recursive: true, mode: 0o700 });
  // Not by the mode of mkdir, from which the umask takes bits: a service of root has users of their own for its zones.
  chmodSync(kit, 0o711);
  // If a user cannot read a program, no other process of that user may inspect its memory, descriptors and directories. The runner needs
  // this protection because its tasks have the same user.
  copyFileSync(bash, join(kit, 'shell'));
  chmodSync(join(kit, 'shell'), 0o111);
  for (const [name, text] of Object.entries(ownConfiguration)) writeFileSync(join(kit, name), text, { mode: 0o644 });
  for (const name of Object.keys(ownConfiguration)) chmodSync(join(kit, name), 0o644);
}

/** Options of `prepareVisibleSystem`. */
export interface VisibleOptions {
  /** Directory for the files that sandboxes share. */
  readonly kit: string;
  /** Path of bash. */
  readonly bash: string;
  /** Path of the Node.js that runs the service. */
  readonly node: string;
  /** Directories that no task may see. */
  readonly kept: readonly string[];
  /** Further directories of programs. */
  readonly tools: readonly ReadOnlyBind[];
}

/** Inspects the machine and creates the files that sandboxes need. */
export function prepareVisibleSystem({ kit, bash, node: program, kept, tools }: VisibleOptions): VisibleSystem {
  prepareKit(kit, bash);
  const system = findMerged();
  const node = bindNode(program, kept);
  const etc = configuration
    .map((name) => ({ source: join('/etc', name), target: join('/etc', name) }))
    .filter(({ source }) => exists(source))
    .map(({ source, target }) => ({ source: realpathSync(source), target }));
  const own = Object.keys(ownConfiguration).map((name) => ({ source: join(kit, name), target: join('/etc', name) }));
  return {
    kit,
    binds: [...system.binds, ...etc, ...own, { source: join(kit, 'shell'), target: runnerShell }, ...node.binds, ...tools],
    links: system.links,
    programs: [...node.programs, ...tools.map(({ target }) => target)],
  };
}
