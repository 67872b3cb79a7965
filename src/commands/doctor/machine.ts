import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { describeBuild } from '../../base/build.ts';
import type { Context } from '../../cli/command.ts';
import { explain, quietly } from '../../base/errors.ts';
import { findStale } from '../completion/install.ts';
import { describeDifference, findService } from '../local/running.ts';
import { dataDirOf } from '../local/service.ts';
import { escapeControl } from '../../output/escape.ts';
import { findInstallPath } from '../version.ts';
import { ok, warning, type Finding } from './finding.ts';

/** What a bug report has to say about the program and the machine, and the problems of either. */

/** The client works without a database; only the local service needs one. */
async function checkDatabase(): Promise<Finding> {
  const { describeSqlite } = await import('../../server/store/sqlite.ts');
  try {
    return ok('database', await describeSqlite());
  } catch (error) {
    return warning('database', explain(error).message);
  }
}

async function checkService(context: Context): Promise<Finding> {
  const found = await findService(context.world, dataDirOf(context, undefined));
  if (found === undefined) return ok('service', 'no local service is running');
  const { pid, version = 'before 0.2.0', commit = 'unknown', computeUrl } = found.running;
  const detail = `local service ${version} (commit ${commit}), process ${pid}, ${computeUrl}`;
  if (!found.answers) return warning('service', `${detail}: does not respond in time`, `kill ${pid}`);
  const difference = describeDifference(found.running);
  if (difference === undefined) return ok('service', detail);
  return warning('service', `${detail}: another release`, 'cloud local stop && cloud local start');
}

function checkCompletion({ world }: Context): Finding[] {
  return findStale(world).map((shell) =>
    warning('completion', `the completion of ${shell} was installed by an earlier release`, `cloud completion ${shell} --install`),
  );
}

/**
 * A finding if the local service cannot find core files of job tasks. The pattern is the kernel's, for the whole machine: only a relative
 * name puts the file into the working directory of the process.
 */
export function describeCores(pattern: string): Finding | undefined {
  if (/^core(?:\.%p)?$/.test(pattern)) return undefined;
  return ok(
    'cores',
    `core files of job tasks are not stored, and child processes that dump core fail no task: the kernel writes them to ${escapeControl(pattern)}`,
  );
}

/** The kernel's pattern for the names of core files; undefined if it cannot be read. */
export function readCorePattern(): string | undefined {
  return quietly(() => readFileSync('/proc/sys/kernel/core_pattern', 'utf8').trim(), undefined);
}

/** Checks the program, the machine and the local service. */
export async function* examineMachine(context: Context): AsyncGenerator<Finding> {
  const { world } = context;
  yield ok('program', describeBuild());
  yield ok('node', `Node.js ${world.release}, ${world.executable}`);
  yield ok('system', `${world.system}, kernel ${release()}`);
  yield ok('install', findInstallPath(world.program));
  yield await checkDatabase();
  yield await checkService(context);
  const pattern = readCorePattern();
  const cores = pattern === undefined ? undefined : describeCores(pattern);
  if (cores) yield cores;
  yield* checkCompletion(context);
}
