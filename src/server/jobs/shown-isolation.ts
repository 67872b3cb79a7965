import { lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { release, version } from 'node:os';
import { join } from 'node:path';
import { build } from '../../base/build.ts';
import { readPrivate, writePrivate } from '../../base/private-files.ts';
import type { Detected } from './detect-isolation.ts';
import { isolationKinds, systemPath, type IsolationKind } from './isolation.ts';
import { quietly } from './zone-usage.ts';

/** What the user is shown of how tasks of jobs are kept from the rest of the machine. */
export interface ShownIsolation {
  /** `off` where no tasks run. */
  readonly isolation: IsolationKind | 'off';
  /** Why jobs are off. */
  readonly jobsOff?: string | undefined;
  /** How the memory of tasks is limited, where a job asks for that. */
  readonly memoryLimit?: 'cgroup v1' | 'cgroup v2' | 'sampling' | undefined;
}

/** What is shown of the outcome of a trial. */
export function showIsolation(detected: Detected): ShownIsolation {
  if ('refusal' in detected) return { isolation: 'off', jobsOff: detected.refusal };
  const { kind, groups } = detected.isolation;
  return { isolation: kind, memoryLimit: groups ? `cgroup ${groups.version}` : 'sampling' };
}

const memoryFile = 'isolation.json';

/** Programs that make sandboxes. */
const programs = ['bwrap', 'unshare', 'mount', 'setpriv', 'pivot_root'];

/** What decides whether a sandbox can be made, as far as the system tells. */
const facts = [
  '/proc/sys/kernel/random/boot_id',
  '/proc/sys/kernel/unprivileged_userns_clone',
  '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
  '/proc/sys/user/max_user_namespaces',
  '/proc/sys/fs/suid_dumpable',
  '/proc/self/attr/current',
];

function readFact(path: string): string {
  return quietly(() => readFileSync(path, 'latin1'), '');
}

function describeProgram(name: string): string {
  for (const folder of systemPath) {
    const stats = statSync(join(folder, name), { throwIfNoEntry: false });
    if (stats) return `${folder} ${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs} ${stats.mode}`;
  }
  return '';
}

function readNamespace(name: string): string {
  return quietly(() => readlinkSync(`/proc/self/ns/${name}`), '');
}

/** The machine, this process and what is asked for: the outcome of a trial counts for the same ones only. */
function describeTrial(dataDir: string, wanted: IsolationKind | undefined): string {
  const limits = readFact('/proc/self/status').match(/^(?:Uid|Gid|Cap\w+|NoNewPrivs|Seccomp):.*$/gmu) ?? [];
  const { dev, ino } = lstatSync(dataDir);
  return JSON.stringify([
    [build.version, build.commit, release(), version(), wanted ?? '', dataDir, dev, ino],
    facts.map(readFact),
    ['user', 'mnt', 'pid', 'net', 'cgroup'].map(readNamespace),
    limits,
    programs.map(describeProgram),
  ]);
}

/** Remembers what a trial found, for the next start. */
export function rememberIsolation(dataDir: string, wanted: IsolationKind | undefined, { isolation, memoryLimit }: ShownIsolation): void {
  const kept = { trial: describeTrial(dataDir, wanted), isolation, memoryLimit };
  try {
    writePrivate(join(dataDir, memoryFile), JSON.stringify(kept), { flush: false });
  } catch {
    // On a full disk the next start waits for its trial.
  }
}

/** Lets a directory on the same disk begin with what a trial for another one found, when that still counts. */
export function inheritIsolation(from: string, to: string, wanted: IsolationKind | undefined): void {
  const shown = recallIsolation(from, wanted);
  if (shown !== undefined && lstatSync(from).dev === lstatSync(to).dev) rememberIsolation(to, wanted, shown);
}

/**
 * The sandbox that the last trial on the same machine found, to be shown while the trial of this start is under way; undefined when
 * there is none, or jobs were off. Only shown: tasks wait for the trial, so that a machine that lost its sandbox runs none.
 */
export function recallIsolation(dataDir: string, wanted: IsolationKind | undefined): ShownIsolation | undefined {
  try {
    const kept = JSON.parse(readPrivate(join(dataDir, memoryFile))) as Partial<ShownIsolation> & { trial?: string };
    const isolation = isolationKinds.find((kind) => kind === kept.isolation);
    if (isolation === undefined || kept.trial !== describeTrial(dataDir, wanted)) return undefined;
    const memoryLimit = (['cgroup v1', 'cgroup v2', 'sampling'] as const).find((each) => each === kept.memoryLimit);
    return { isolation, memoryLimit };
  } catch {
    return undefined;
  }
}
