import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { IsolationKind } from '../../api/isolation.ts';
import { writeBubblewrap, type BubblewrapOptions } from './bubblewrap.ts';
import type { ControlGroups } from './control-groups.ts';
import type { FilterLoader } from './filter-loader.ts';
import { writeNamespaces } from './namespaces.ts';
import type { VisibleSystem } from './visible-system.ts';
import { createIdentity, createPlace, createStagedPlace, entryPoint, type Identity, type ZonePlace } from './zone-place.ts';
import { quietly } from '../../base/errors.ts';

/** How the runner of a zone is started. */
export interface Launch {
  /** Command prefix that creates the sandbox and runs the rest of the command line inside; empty without a sandbox. */
  readonly words: readonly string[];
  /** File with the system call filter, which the command reads on descriptor 4. */
  readonly filter?: string | undefined;
  /** Shell of the runner, as a path inside the sandbox. */
  readonly shell: string;
}

/** How the tasks of this service are isolated from the rest of the machine. */
export interface Isolation {
  readonly kind: IsolationKind;
  /** Path of bash. */
  readonly bash: string;
  /** `PATH` of tasks. */
  readonly path: string;
  /** Control groups by which the kernel limits the memory of a whole zone; undefined if there are none. */
  readonly groups: ControlGroups | undefined;
  /** True if each zone has its own user, because the service is root. */
  readonly hasIdentities: boolean;
  /** @param zone `isSampled` is true if its memory is limited without a control group */
  launch(directory: string, zone: { identity: Identity | undefined; isSampled: boolean }): Launch;
  /** The user of a zone's tasks; undefined if it is the user of the service. */
  identify(zone: string): Identity | undefined;
  /** Paths of the zone's directories inside the sandbox. */
  entryOf(directory: string): string;
  rootOf(directory: string): string;
  inputsOf(directory: string): string;
  assetsOf(directory: string): string;
}

/** The part of a zone's directory that its tasks see and change, as a path outside the sandbox. */
export function rootDirectory(directory: string): string {
  return join(directory, 'root');
}

/** Directory of the inputs of a zone's tasks, as a path outside the sandbox. */
export function inputDirectory(directory: string): string {
  return join(directory, 'in');
}

/** Directory to which the runner writes stdout (`out/SLOT`) and stderr (`err/SLOT`) of tasks, as a path outside the sandbox. */
export function streamDirectory(directory: string): string {
  return join(directory, 'io');
}

/** Directories in which tasks look for programs. The service's own `PATH` is not passed on. */
export const systemPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin', '/opt/homebrew/bin'];

/** Path of a program in the first of the folders that has it; undefined if none has. */
export function findProgram(name: string, folders: readonly string[]): string | undefined {
  const isExecutable = (file: string): boolean => {
    accessSync(file, constants.X_OK);
    return true;
  };
  return folders.map((folder) => join(folder, name)).find((file) => quietly(() => isExecutable(file), false));
}

/** The bash of this machine; undefined if there is none. */
export function findBash(path = ''): string | undefined {
  return findProgram('bash', [...systemPath, ...path.split(delimiter).filter((folder) => folder.startsWith('/'))]);
}

function joinPath(bash: string, programs: readonly string[]): string {
  return [...new Set([...programs, ...systemPath, dirname(bash)])].join(delimiter);
}

/** Runs tasks as ordinary processes of the service's user. */
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

/** Files with the system call filter of most zones, and of those whose memory is limited without a control group. */
export interface FilterFiles {
  readonly usual: string;
  readonly sampled: string;
}

/** Parts that every kind of sandbox needs. */
export interface SandboxParts {
  readonly bash: string;
  readonly system: VisibleSystem;
  /** Files with the system call filters; undefined if none can be loaded. */
  readonly filters: FilterFiles | undefined;
  readonly groups: ControlGroups | undefined;
  /** True if this process is root: then each zone has its own user. */
  readonly isRoot: boolean;
}

function createSandbox(
  kind: IsolationKind,
  shell: string,
  { bash, system, filters, groups, isRoot }: SandboxParts,
  write: (place: ZonePlace, staged: boolean) => string[],
): Isolation {
  return {
    kind,
    bash,
    path: joinPath(bash, system.programs),
    groups,
    hasIdentities: isRoot,
    launch: (directory, { identity, isSampled }) => {
      const filter = isSampled ? filters?.sampled : filters?.usual;
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

/** Runs tasks in a bubblewrap sandbox. */
export function createBubblewrap(shell: string, parts: SandboxParts, options: BubblewrapOptions): Isolation {
  return createSandbox('bubblewrap', shell, parts, (place) => writeBubblewrap(parts.system, place, options));
}

/** Runs tasks in a sandbox made with the programs of util-linux. */
export function createNamespaces(shell: string, parts: SandboxParts, loader: FilterLoader | undefined): Isolation {
  const { bash, system } = parts;
  const filters = loader && parts.filters;
  return createSandbox('namespaces', shell, { ...parts, filters }, (place, staged) =>
    writeNamespaces(system, place, { bash, staged, loader }),
  );
}
