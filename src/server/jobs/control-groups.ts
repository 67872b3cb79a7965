import { randomUUID } from 'node:crypto';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { quietly } from '../../base/errors.ts';

/** Control groups that limit the memory of a whole zone, where this process may create groups (cgroups(7)). */

type Version = 'v1' | 'v2';

/** A directory where groups can be created. */
export interface ControlGroups {
  readonly version: Version;
  readonly parent: string;
}

/** A group of processes whose memory is limited. The guard of a zone removes it. */
export interface MemoryGroup {
  readonly directory: string;
  /** Number of processes that the kernel has killed because of the limit. */
  countKills(): number;
}

const files = {
  v1: { limit: 'memory.limit_in_bytes', withSwap: 'memory.memsw.limit_in_bytes', events: 'memory.oom_control' },
  v2: { limit: 'memory.max', withSwap: 'memory.swap.max', events: 'memory.events' },
} as const;

function readText(file: string): string {
  return quietly(() => readFileSync(file, 'utf8'), '');
}

/** Directories in which to try to create a group: below the group of this process, beside it, and at the top. */
function listParents(): ControlGroups[] {
  const own = readText('/proc/self/cgroup').split('\n');
  const pathOf = (pattern: RegExp): string => own.map((line) => pattern.exec(line)?.[1]).find((path) => path !== undefined) ?? '/';
  const v2 = pathOf(/^0::(.*)$/u);
  const v1 = pathOf(/^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/u);
  const below = (version: Version, mount: string, path: string): ControlGroups[] =>
    [...new Set([path, dirname(path), '/'])].map((each) => ({ version, parent: join(mount, each) }));
  return [...below('v2', '/sys/fs/cgroup', v2), ...below('v1', '/sys/fs/cgroup/memory', v1)];
}

/** Creates a group. @throws {Error} if this process may not, or if the limit cannot be set there */
export function createMemoryGroup({ version, parent }: ControlGroups, name: string, bytes: number): MemoryGroup {
  const directory = join(parent, `cloud-${name}`);
  const { limit, withSwap, events } = files[version];
  mkdirSync(directory);
  try {
    if (!existsSync(join(directory, limit))) throw new Error(`${directory} has no memory controller`);
    writeFileSync(join(directory, limit), String(bytes));
    // Swapped memory counts too, where there is swap.
    if (existsSync(join(directory, withSwap))) writeFileSync(join(directory, withSwap), version === 'v1' ? String(bytes) : '0');
  } catch (error) {
    rmdirSync(directory);
    throw error;
  }
  return { directory, countKills: () => Number(/^oom_kill (\d+)$/mu.exec(readText(join(directory, events)))?.[1] ?? 0) };
}

/** True if a group can be created, joined by a process and removed. */
async function tryGroups(groups: ControlGroups): Promise<boolean> {
  try {
    const { directory } = createMemoryGroup(groups, randomUUID(), 64 * 1024 * 1024);
    try {
      await promisify(execFile)('/bin/sh', ['-c', 'echo 0 >"$0/cgroup.procs"', directory]);
      return true;
    } finally {
      rmdirSync(directory);
    }
  } catch {
    return false;
  }
}

/** Finds a directory where groups can be created; undefined if there is none. */
export async function findControlGroups(): Promise<ControlGroups | undefined> {
  for (const groups of listParents()) if (await tryGroups(groups)) return groups;
  return undefined;
}
