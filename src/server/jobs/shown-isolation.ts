import { lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { release, version } from 'node:os';
import { join } from 'node:path';
import { build } from '../../base/build.ts';
import { readPrivate, writePrivate } from '../../base/private-files.ts';
import type { Detected } from './detect-isolation.ts';
import { isolationKinds, type IsolationKind } from '../../api/isolation.ts';
import { systemPath } from './isolation.ts';
import { quietly } from '../../base/errors.ts';

/** How tasks of jobs are isolated from the rest of the machine, as shown to the user. */
export interface ShownIsolation {
  /** `off` where jobs are disabled. */
  readonly isolation: IsolationKind | 'off';
  /** Why jobs are disabled. */
  readonly jobsOff?: string | undefined;
  /** How the memory of tasks is limited if a job requests that. */
  readonly memoryLimit?: 'cgroup v1' | 'cgroup v2' | 'sampling' | undefined;
}

/** The part of a detection result that is shown. */
export function showIsolation(detected: Detected): ShownIsolation {
  if ('refusal' in detected) return { isolation: 'off', jobsOff: detected.refusal };
  const { kind, groups } = detected.isolation;
  return { isolation: kind, memoryLimit: groups ? `cgroup ${groups.version}` : 'sampling' };
}

const memoryFile = 'isolation.json';

/** Programs that make sandboxes. */
const programs = ['bwrap', 'unshare', 'mount', 'setpriv', 'pivot_root', 'perl'];

/** Files of the system that decide whether a sandbox can be created. */
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

/** Describes the machine, this process and the requested isolation: a detection result is valid only while all of them are the same. */
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

/** Stores a detection result for the next start. */
export function rememberIsolation(dataDir: string, wanted: IsolationKind | undefined, { isolation, memoryLimit }: ShownIsolation): void {
  const kept = { trial: describeTrial(dataDir, wanted), isolation, memoryLimit };
  try {
    writePrivate(join(dataDir, memoryFile), JSON.stringify(kept), { flush: false });
  } catch {
    // Not stored, on a full disk for example: then the next start waits for its own detection.
  }
}

/** Copies the detection result of one directory to another on the same disk, if it is still valid. */
export function inheritIsolation(from: string, to: string, wanted: IsolationKind | undefined): void {
  const shown = recallIsolation(from, wanted);
  if (shown !== undefined && lstatSync(from).dev === lstatSync(to).dev) rememberIsolation(to, wanted, shown);
}

/**
 * The isolation that the last detection on the same machine found, to be shown while the detection of this start is running; undefined if
 * there is none, or if jobs were disabled. It is only shown: tasks wait for the new detection, so that a machine that lost its sandbox runs
 * no tasks.
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
