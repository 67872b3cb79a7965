import { taskUser, type VisibleSystem } from './visible-system.ts';
import { entryPoint, type ZonePlace } from './zone-place.ts';

/** Size of the shared memory that tasks can write to, bytes. */
export const sharedMemorySize = 64 * 1024 * 1024;

/** Descriptor on which bubblewrap reads the system call filter. */
export const filterDescriptor = 4;

export interface BubblewrapOptions {
  /** False if bubblewrap is older than 0.8: then the filter alone forbids further user namespaces. */
  readonly disableUserNamespaces: boolean;
}

/** Command prefix that runs the rest of the command line in a sandbox (bwrap(1)). */
export function writeBubblewrap(system: VisibleSystem, place: ZonePlace, { disableUserNamespaces }: BubblewrapOptions): string[] {
  const { seen, zone } = place;
  const binds = system.binds.map(({ source, target }) => ['--ro-bind', seen(source), target]);
  const links = system.links.map(([target, path]) => ['--symlink', target, path]);
  return [
    ['bwrap', '--unshare-all', '--unshare-user', disableUserNamespaces ? '--disable-userns' : []],
    ['--uid', String(taskUser), '--gid', String(taskUser), '--cap-drop', 'ALL', '--hostname', 'zone'],
    // No other process in a PID namespace can kill its first process.
    ['--die-with-parent', '--new-session', '--as-pid-1'],
    ['--seccomp', String(filterDescriptor)],
    ...binds,
    ...links,
    ['--proc', '/proc', '--dev', '/dev'],
    ['--perms', '1777', '--size', String(sharedMemorySize), '--tmpfs', '/dev/shm'],
    ['--dir', '/run', '--dir', '/var', '--symlink', '/tmp', '/var/tmp'],
    // Mount points cannot be renamed or removed, so the service always finds its own directories under these names.
    ['--bind', zone('root'), '/tmp', '--bind', zone('root/work'), '/tmp/work', '--bind', zone('root/home'), '/tmp/home'],
    ['--bind', zone('root/assets'), '/assets', '--ro-bind', zone('in'), '/tmp/in', '--bind', zone('io'), entryPoint],
    ['--remount-ro', '/dev', '--remount-ro', '/'],
    ['--chdir', '/tmp', '--'],
  ].flat(2);
}
