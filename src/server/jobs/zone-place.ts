import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join, relative, sep } from 'node:path';
import type { VisibleSystem } from './visible-system.ts';

/**
 * The files of a zone: `in/SLOT` inputs, which the service alone writes; `root`, `root/work/SLOT`, `root/home` and `root/assets`,
 * which tasks see as /tmp, /tmp/work/SLOT, /tmp/home and /assets and may change as they like; `io/out/SLOT` and `io/err/SLOT`, which
 * the runner opens for them; `io/taken/SLOT`, which marks a task that the service took back; and
 * `io/emitted/SLOT`, where the runner puts what the tools of a task left.
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

/** Where the runner finds `io`, until it has made it its working directory. */
export const entryPoint = '/tmp/.zone';

/** The same directory as seen by the service. */
export function entryDirectory(directory: string): string {
  return join(directory, 'root', '.zone');
}

/** Where those who make a sandbox find files of the service. */
export interface ZonePlace {
  /** Path of a file of the service. */
  seen(path: string): string;
  /** Path of a file of the zone. */
  zone(path: string): string;
}

/** Everything where the service has it. */
export function createPlace(directory: string): ZonePlace {
  return { seen: (path) => path, zone: (path) => join(directory, path) };
}

/** Who the tasks of a zone are on this machine, where the service can choose that. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** Users and groups that nothing else has: between those of containers and those of foreign machines in systemd's table. */
const firstUser = 1_900_000_000;
const userCount = 100_000_000;

/** The group of all zones: it can read their inputs. */
export const zoneGroup = 1_899_999_999;

/** An identity for a zone whose name begins with hexadecimal digits. */
export function createIdentity(name: string): Identity {
  return { uid: firstUser + (Number.parseInt(name.slice(0, 8), 16) % userCount), gid: zoneGroup };
}

/** True when this process can give files to the users of zones: it is root, and not of a user namespace without them. */
export function canIdentify(): boolean {
  if (userInfo().uid !== 0) return false;
  const lines = readFileSync('/proc/self/uid_map', 'latin1').trim().split('\n');
  return lines.some((line) => {
    const [first = 0, , count = 0] = line.trim().split(/\s+/u).map(Number);
    return first <= firstUser && first + count >= firstUser + userCount;
  });
}

/** Where root puts what the user of a zone has to find: a directory that no data and no program is in. */
const stage = '/sys';

/** An empty directory on the stage. */
export const stagedRoot = `${stage}/root`;

/**
 * Puts directories where another user can reach them, in a mount namespace of its own, and becomes that user. Arguments: user, group,
 * pairs of source and directory on the stage, `--`, and what is started then.
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

/** A place that root prepares for another user, and the command that does it and starts what follows it. */
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
