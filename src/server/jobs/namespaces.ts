import { join, relative } from 'node:path';
import { quoteShell } from '../../base/quote.ts';
import { filterDescriptor, sharedMemorySize } from './bubblewrap.ts';
import { writePerlLoader, type FilterLoader } from './filter-loader.ts';
import { taskUser, type VisibleSystem } from './visible-system.ts';
import { entryPoint, stagedRoot, type ZonePlace } from './zone-place.ts';

/**
 * The sandbox that bubblewrap makes, but with the programs of util-linux alone: an initially empty root, pivot_root, and a second user
 * namespace that has no rights over the mounts of the first.
 */

const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];

/** Options of a sandbox made of namespaces. */
export interface NamespaceOptions {
  readonly bash: string;
  /** True if root has prepared the stage. */
  readonly staged: boolean;
  /** Program that loads the system call filter; undefined if none can. */
  readonly loader: FilterLoader | undefined;
}

/** Quotes a field of a mount table (fstab(5)). */
function quoteField(text: string): string {
  return text.replaceAll(/[\\\s#]/gu, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

/** A mount in the new root: source, target as tasks see it, file system type, options. */
type Mount = readonly [source: string, target: string, type: string, options: string];

/**
 * Bash commands that create the mounts. They run in the directory that becomes the root; until then it is at `root`. One `mount` creates
 * all of them: each process costs 2 ms, and there are some forty mounts. Another user namespace cannot clear flags of an existing mount, so
 * a mount with `noexec` needs that option again: if the one `mount` reports a failure, each mount is made on its own.
 */
function writeMounts(root: string, mounts: readonly Mount[]): string {
  const table = mounts.map(([source, target, type, options]) => [source, `${root}${target}`, type, options].map(quoteField).join(' '));
  const words = mounts.map(([source, target, type, options]) => [source, `.${target}`, type, options].map(quoteShell).join(' '));
  return `
mounts=(${words.join('\n')})
folders=(); files=()
for ((at = 0; at < \${#mounts[@]}; at += 4)); do
  target=\${mounts[at + 1]}
  if [ -d "\${mounts[at]}" ]; then folders+=("$target"); else folders+=("\${target%/*}"); files+=("$target"); fi
done
mkdir -p "\${folders[@]}"
for file in "\${files[@]}"; do [ -e "$file" ] || : >"$file"; done
printf '%s\\n' ${table.map(quoteShell).join(' ')} >.table
mount --all --fstab .table 2>/dev/null || {
  for ((at = 0; at < \${#mounts[@]}; at += 4)); do
    target=\${mounts[at + 1]}; type=\${mounts[at + 2]}; options=\${mounts[at + 3]}
    mount -t "$type" -o "$options" "\${mounts[at]}" "$target" 2>/dev/null || mount -o "remount,$options,noexec" "$target"
  done
}`;
}

/** The commands that build the root, for bash with `set -e`. They run as root of new namespaces. */
function writeScript(system: VisibleSystem, { seen, zone }: ZonePlace, { staged, loader }: NamespaceOptions): string {
  const root = staged ? stagedRoot : '/sys';
  const bind = (source: string, target: string, mode: 'ro' | 'rw'): Mount => [source, target, 'none', `bind,nosuid,nodev,${mode}`];
  return [
    `set -e
mount -t tmpfs -o size=1m,mode=0755,nosuid,nodev none ${root}
cd ${root}
mkdir proc dev run var .old ${quoteShell(zone(join('root', relative('/tmp', entryPoint))))}
mount -t tmpfs -o size=64k,mode=0755,nosuid none dev
mkdir dev/pts dev/shm`,
    ...system.links.map(([target, path]) => `ln -s ${quoteShell(target)} ${quoteShell(`.${path}`)}`),
    'ln -s /tmp var/tmp; ln -s pts/ptmx dev/ptmx; ln -s /proc/self/fd dev/fd',
    'for number in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${number%:*}" "dev/${number#*:}"; done',
    writeMounts(root, [
      ...system.binds.map(({ source, target }) => bind(seen(source), target, 'ro')),
      ...devices.map((device): Mount => [`/dev/${device}`, `/dev/${device}`, 'none', 'bind,nosuid']),
      ['proc', '/proc', 'proc', 'nosuid,nodev,noexec'],
      ['devpts', '/dev/pts', 'devpts', 'newinstance,ptmxmode=0666,mode=620,nosuid,noexec'],
      ['none', '/dev/shm', 'tmpfs', `size=${sharedMemorySize},mode=1777,nosuid,nodev`],
      bind(zone('root'), '/tmp', 'rw'),
      bind(zone('root/work'), '/tmp/work', 'rw'),
      bind(zone('root/home'), '/tmp/home', 'rw'),
      bind(zone('root/assets'), '/assets', 'rw'),
      bind(zone('in'), '/tmp/in', 'ro'),
      bind(zone('io'), entryPoint, 'rw'),
    ]),
    `pivot_root . .old
cd /tmp
umount -l /.old
rmdir /.old
rm /.table
mount -o remount,bind,ro,nosuid,nodev /
mount -o remount,bind,ro,nosuid /dev
hostname zone
echo 1 >/proc/sys/user/max_user_namespaces`,
    // The runner must be started by a process that has already lost its capabilities (env). With them, that process could read the runner's
    // program file, and then other processes could inspect the runner.
    `exec unshare --user --map-user=${taskUser} --map-group=${taskUser} --keep-caps -- \\
  setpriv --ambient-caps=-all --inh-caps=-all --bounding-set=-all --no-new-privs ${loader === 'setpriv' ? `--seccomp-filter /proc/self/fd/${filterDescriptor}` : ''} -- \\
  ${loader === 'perl' ? writePerlLoader(filterDescriptor).map(quoteShell).join(' ') : ''} env "$@"`,
  ].join('\n');
}

const unshareWords = ['--user', '--map-root-user', '--mount', '--net', '--pid', '--ipc', '--uts', '--cgroup', '--fork', '--kill-child'];

/** Command prefix that runs the rest of the command line in a sandbox. */
export function writeNamespaces(system: VisibleSystem, place: ZonePlace, options: NamespaceOptions): string[] {
  return ['unshare', ...unshareWords, '--', options.bash, '-c', writeScript(system, place, options), 'cloud-sandbox'];
}
