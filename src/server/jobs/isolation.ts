import { homedir } from 'node:os';
import { access } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { constants } from 'node:fs';
import { wallScript } from './zone-scripts.ts';

/** How far the tasks of this service are kept from the rest of the machine. */
export interface Isolation {
  /** `namespaces`: own processes, own view of the disk, no network. */
  readonly kind: 'namespaces' | 'none';
  /** Path of bash. */
  readonly bash: string;
  /** Words that start the runner inside the walls; none without namespaces. */
  wrap(directory: string, dataDir: string): readonly string[];
  /** Where the zone's root is as seen inside. */
  rootOf(directory: string): string;
  /** Where the inputs of tasks are as seen inside. */
  inputsOf(directory: string): string;
}

/** The part of a zone's directory that its tasks see, as seen from outside. */
export function rootDirectory(directory: string): string {
  return join(directory, 'root');
}

/** Where the inputs of a zone's tasks are, as seen from outside. */
export function inputDirectory(directory: string): string {
  return join(directory, 'in');
}

/** Where the tools of tasks are looked for; the service's own PATH is none of their business. */
const systemPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin', '/opt/homebrew/bin'];

/** The bash of this machine; undefined when there is none. */
export async function findBash(path: string | undefined): Promise<string | undefined> {
  const folders = [...systemPath, ...(path ?? '').split(delimiter).filter((folder) => folder.startsWith('/'))];
  for (const folder of folders) {
    const file = join(folder, 'bash');
    const usable = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) return file;
  }
  return undefined;
}

/** PATH of tasks: the system's folders and that of bash. */
export function pathOfTasks(bash: string): string {
  return [...new Set([...systemPath, dirname(bash)])].join(delimiter);
}

/** Tasks as ordinary processes of the service's user. */
export function createOpenIsolation(bash: string): Isolation {
  return { kind: 'none', bash, wrap: () => [], rootOf: rootDirectory, inputsOf: inputDirectory };
}

const unshareFlags = ['--mount', '--net', '--pid', '--ipc', '--uts', '--fork', '--kill-child'];

/** Tasks in namespaces of their own; `mapped` makes a user namespace too, which needs no privileges. */
export function createNamespaces(bash: string, mapped: boolean): Isolation {
  const home = homedir();
  return {
    kind: 'namespaces',
    bash,
    wrap: (directory, dataDir) => [
      'unshare',
      ...(mapped ? ['--user', '--map-root-user'] : []),
      ...unshareFlags,
      '--',
      bash,
      '-c',
      wallScript,
      'cloud-zone',
      directory,
      dataDir,
      // A home that is the root of everything cannot be hidden.
      home === '/' ? '' : home,
    ],
    rootOf: () => '/tmp',
    inputsOf: () => '/tmp/in',
  };
}
