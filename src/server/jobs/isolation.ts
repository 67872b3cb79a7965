import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { writeBubblewrap, type BubblewrapOptions } from './bubblewrap.ts';
import type { ControlGroups } from './control-groups.ts';
import { writeNamespaces } from './namespaces.ts';
import type { VisibleSystem } from './visible-system.ts';
import { createIdentity, createPlace, createStagedPlace, entryPoint, type Identity, type ZonePlace } from './zone-place.ts';
import { quietly } from './zone-usage.ts';

/** How tasks can be kept from the rest of the machine, strongest first. */
export const isolationKinds = ['bubblewrap', 'namespaces', 'none'] as const;
export type IsolationKind = (typeof isolationKinds)[number];

/** What starts the runner of a zone. */
export interface Launch {
  /** The command that makes the sandbox and starts what follows it in there; empty without one. */
  readonly words: readonly string[];
  /** Filter of system calls that the command reads on descriptor 4. */
  readonly filter?: string | undefined;
  /** Shell of the runner, as seen inside. */
  readonly shell: string;
}

/** How far the tasks of this service are kept from the rest of the machine. */
export interface Isolation {
  readonly kind: IsolationKind;
  /** Path of bash. */
  readonly bash: string;
  /** PATH of tasks. */
  readonly path: string;
  /** Where memory can be limited for a zone as a whole by the kernel; undefined when nowhere. */
  readonly groups: ControlGroups | undefined;
  /** Whether zones have users of their own: the service is root. */
  readonly hasIdentities: boolean;
  launch(directory: string, identity: Identity | undefined): Launch;
  /** Who the tasks of a zone are; undefined when they are the user of the service. */
  identify(zone: string): Identity | undefined;
  /** Where directories of the zone are as seen inside. */
  entryOf(directory: string): string;
  rootOf(directory: string): string;
  inputsOf(directory: string): string;
  assetsOf(directory: string): string;
}

/** The part of a zone's directory that its tasks see and change, as seen from outside. */
export function rootDirectory(directory: string): string {
  return join(directory, 'root');
}

/** Where the inputs of a zone's tasks are, as seen from outside. */
export function inputDirectory(directory: string): string {
  return join(directory, 'in');
}

/** Where the runner writes standard output (`out/SLOT`) and standard error (`err/SLOT`) of tasks, as seen from outside. */
export function streamDirectory(directory: string): string {
  return join(directory, 'io');
}

/** Where the tools of tasks are looked for; the service's own PATH is none of their business. */
export const systemPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin', '/opt/homebrew/bin'];

/** The file of a program in the first of some folders that has it; undefined when none has. */
export function findProgram(name: string, folders: readonly string[]): string | undefined {
  const files = folders.map((folder) => join(folder, name));
  return files.find((file) => quietly(() => accessSync(file, constants.X_OK) === undefined, false));
}

/** The bash of this machine; undefined when there is none. */
export function findBash(path = ''): string | undefined {
  return findProgram('bash', [...systemPath, ...path.split(delimiter).filter((folder) => folder.startsWith('/'))]);
}

function joinPath(bash: string, programs: readonly string[]): string {
  return [...new Set([...programs, ...systemPath, dirname(bash)])].join(delimiter);
}

/** Tasks as ordinary processes of the service's user. */
export function createOpenIsolation(bash: string, programs: readonly string[] = [], groups?: ControlGroups): Isolation {
  return {
    kind: 'none',
    bash,
    path: joinPath(bash, programs),
    groups,
    hasIdentities: false,
    launch: () => ({ words: [], shell: bash }),
    identify: () => undefined,
    entryOf: streamDirectory,
    rootOf: rootDirectory,
    inputsOf: inputDirectory,
    assetsOf: (directory) => join(rootDirectory(directory), 'assets'),
  };
}

/** What every kind of sandbox is made from. */
export interface SandboxParts {
  readonly bash: string;
  readonly system: VisibleSystem;
  /** File with the filter of system calls; undefined when it cannot be loaded. */
  readonly filter: string | undefined;
  readonly groups: ControlGroups | undefined;
  /** Whether this process is root: tasks have users of their own then. */
  readonly isRoot: boolean;
}

type Write = (place: ZonePlace, staged: boolean) => string[];

function createSandbox(
  kind: IsolationKind,
  shell: string,
  { bash, system, filter, groups, isRoot }: SandboxParts,
  write: Write,
): Isolation {
  return {
    kind,
    bash,
    path: joinPath(bash, system.programs),
    groups,
    hasIdentities: isRoot,
    launch: (directory, identity) => {
      if (!identity) return { words: write(createPlace(directory), false), filter, shell };
      const { place, words } = createStagedPlace(directory, system, { identity, bash });
      return { words: [...words, ...write(place, true)], filter, shell };
    },
    identify: (zone) => (isRoot ? createIdentity(zone) : undefined),
    entryOf: () => entryPoint,
    rootOf: () => '/tmp',
    inputsOf: () => '/tmp/in',
    assetsOf: () => '/assets',
  };
}

/** Tasks in a sandbox of bubblewrap. */
export function createBubblewrap(shell: string, parts: SandboxParts, options: BubblewrapOptions): Isolation {
  return createSandbox('bubblewrap', shell, parts, (place) => writeBubblewrap(parts.system, place, options));
}

/** Tasks in a sandbox made with the programs of util-linux. */
export function createNamespaces(shell: string, parts: SandboxParts): Isolation {
  const { bash, filter, system } = parts;
  return createSandbox('namespaces', shell, parts, (place, staged) =>
    writeNamespaces(system, place, { bash, staged, canFilter: filter !== undefined }),
  );
}
