import { readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { VisibleSystem } from './visible-system.ts';

/**
 * The directories of a zone: `in/SLOT` has inputs, which the service alone writes. `root`, `root/work/SLOT`, `root/home` and `root/assets`
 * appear to tasks as /tmp, /tmp/work/SLOT, /tmp/home and /assets; tasks may change them freely. `io/out/SLOT` and `io/err/SLOT` are opened
 * for tasks by the runner. `io/taken/SLOT` marks a task that the service has withdrawn. To `io/emitted/SLOT` the runner moves the outputs
 * of a task's tools.
 */
export const zoneFolders = [
  'in',
  'root',
  'root/in',
  'root/work',
  'root/home',
  'root/tmp',
  'root/assets',
  'io',
  'io/out',
  'io/err',
  'io/taken',
  'io/emitted',
];

/** Path of `io` for the runner, until `io` is its working directory. */
export const entryPoint = '/tmp/.zone';

/** The same directory as a path of the service. */
export function entryDirectory(directory: string): string {
  return join(directory, 'root', '.zone');
}

/** Paths under which the process that creates a sandbox finds files of the service. */
export interface ZonePlace {
  /** Path of a file of the service. */
  seen(path: string): string;
  /** Path of a file of the zone. */
  zone(path: string): string;
}

/** A place where all paths are those of the service. */
export function createPlace(directory: string): ZonePlace {
  return { seen: (path) => path, zone: (path) => join(directory, path) };
}

/** User and group of a zone's tasks on this machine, if the service can choose them. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** User and group ids that nothing else uses: between the ranges of containers and of foreign machines in systemd's table. */
const firstUser = 1_900_000_000;
const userCount = 100_000_000;

/** The group of all zones, which can read their inputs. */
export const zoneGroup = 1_899_999_999;

/** The identity of a zone. The name must begin with eight hexadecimal digits. */
export function createIdentity(name: string): Identity {
  return { uid: firstUser + (Number.parseInt(name.slice(0, 8), 16) % userCount), gid: zoneGroup };
}

/** True if this process can give files to the users of zones: it is root, and its user namespace has these users. */
export function canIdentify(): boolean {
  // Not `userInfo`, which fails for a user without an entry in the user database, as in many containers.
  if (process.getuid?.() !== 0) return false;
  const lines = readFileSync('/proc/self/uid_map', 'latin1').trim().split('\n');
  return lines.some((line) => {
    const [first = 0, , count = 0] = line.trim().split(/\s+/u).map(Number);
    return first <= firstUser && first + count >= firstUser + userCount;
  });
}

/** Directory in which root prepares what the user of a zone needs: no data and no programs are in it. */
const stage = '/sys';

export const stagedRoot = `${stage}/root`;

/**
 * Mounts directories where another user can reach them, in its own mount namespace, and becomes that user. Arguments: user, group, pairs of
 * source and directory on the stage, `--`, and the command to start.
 */
const stageScript = `
set -e
uid=$1; gid=$2; shift 2
mount -t tmpfs -o size=64k,mode=0755 none ${stage}
mkdir ${stagedRoot}
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir "$2"; else : >"$2"; fi
  mount --bind "$1" "$2"
  shift 2
done
shift
exec setpriv --reuid="$uid" --regid="$gid" --clear-groups -- "$@"
`;

/** A place that root prepares for another user, and the command prefix that prepares it. */
export function createStagedPlace(
  directory: string,
  system: VisibleSystem,
  { identity, bash }: { identity: Identity; bash: string },
): { place: ZonePlace; words: string[] } {
  const isSystem = (path: string): boolean => ['/usr/', '/etc/'].some((folder) => `${path}/`.startsWith(folder));
  const others = system.binds
    .map(({ source }) => source)
    .filter((source) => !isSystem(source) && !source.startsWith(`${system.kit}${sep}`));
  const sources = [directory, system.kit, ...others];
  const at = (index: number): string => `${stage}/${index}`;
  const seen = (path: string): string => {
    const index = sources.findIndex((source) => path === source || path.startsWith(`${source}${sep}`));
    return index === -1 ? path : join(at(index), relative(sources[index] ?? '', path));
  };
  return {
    place: { seen, zone: (path) => seen(join(directory, path)) },
    words: [
      ['unshare', '--mount', '--propagation', 'private', '--', bash, '-c', stageScript, 'cloud-stage'],
      [String(identity.uid), String(identity.gid)],
      ...sources.map((source, index) => [source, at(index)]),
      ['--'],
    ].flat(),
  };
}
