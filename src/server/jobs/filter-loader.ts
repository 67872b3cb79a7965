import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { filterDescriptor } from './bubblewrap.ts';
import { readHelp } from './read-help.ts';

/** Programs that load a system call filter and then run another program: setpriv of util-linux 2.40, otherwise perl. */
export type FilterLoader = 'setpriv' | 'perl';

/** The number of prctl(2). */
const prctl = process.arch === 'arm64' ? 167 : 157;

/** prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, struct sock_fprog *): the number of instructions and their address. */
const script = `
open my $file, "<&=", shift or die "$!\\n";
my $filter = do { local $/; <$file> };
close $file;
my $program = pack "S x![J] P", length($filter) / 8, $filter;
syscall(${prctl}, 22, 2, $program, 0, 0) == 0 or die "the system call filter was not loaded: $!\\n";
exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n";
`;

/** Command prefix that loads the filter that a descriptor reads, and closes the descriptor. The process must have no_new_privs. */
export function writePerlLoader(descriptor: number): string[] {
  return ['perl', '-e', script, String(descriptor)];
}

/** Finds a program that can load the filter in this file; undefined if there is none. */
export async function findFilterLoader(bash: string, filter: string): Promise<FilterLoader | undefined> {
  if ((await readHelp('setpriv')).includes('--seccomp-filter')) return 'setpriv';
  const words = ['setpriv', '--no-new-privs', '--', ...writePerlLoader(filterDescriptor), 'true'];
  try {
    await promisify(execFile)(bash, ['-c', `exec ${filterDescriptor}<"$0"; exec "$@"`, filter, ...words]);
    return 'perl';
  } catch {
    return undefined;
  }
}
