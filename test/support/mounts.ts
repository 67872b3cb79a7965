import { spawnSync } from 'node:child_process';

/** File systems in the memory that processes have to themselves, in namespaces of their own: no privileges are needed. */

/** Words before a program that may mount what others do not see. */
export const apart = ['unshare', '--user', '--map-root-user', '--mount'] as const;

/** Why none can be mounted here; undefined where one can. */
export function cannotMount(): string | undefined {
  const [unshare, ...words] = apart;
  const { status, stderr } = spawnSync(unshare, [...words, 'mount', '-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', '/mnt'], {
    encoding: 'utf8',
  });
  return status === 0 ? undefined : stderr.trim();
}
