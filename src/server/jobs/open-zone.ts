import { basename, join } from 'node:path';
import type { ActiveJob, ActivePhase, Failure } from './active-job.ts';
import type { EngineOptions } from './engine.ts';
import { rootDirectory, type Isolation } from './isolation.ts';
import { prepareAssets } from './prepare.ts';
import { putObjects } from './record.ts';
import { removeTree } from './remove-tree.ts';
import { baseOf, describeEnding, saveTraces } from './results.ts';
import { prepareZone, startZone, TaskTooLong, type Ending, type Zone } from './zone.ts';

/** Zones in a row that may fail to come up before the phase is given up. */
const mostLostZones = 3;

type Options = EngineOptions & { readonly isolation: Isolation; readonly timeLimit: number };

function describeJob({ url }: EngineOptions, { id, account }: ActiveJob): Record<string, string> {
  const facts = { JOB_ID: id, USER: account.login, URL: url() };
  return Object.fromEntries(
    Object.entries(facts).flatMap(([name, value]) => [`MANTA_${name}`, `CLOUD_${name}`].map((key) => [key, value])),
  );
}

/** Why the tasks of a phase whose init failed cannot be done; what init said is stored now, once for all of them. */
async function failInit({ store, now }: Options, job: ActiveJob, phase: ActivePhase, directory: string, ending: Ending): Promise<Failure> {
  const base = baseOf(job, phase.number, null).replace(/reduce\.(\d+)\.$/u, 'init.$1.');
  const traces = await saveTraces(store, {
    stderr: join(directory, 'err', 'init'),
    directory: join(rootDirectory(directory), 'home'),
    base,
  });
  await store.write((transaction) => putObjects(transaction, traces.objects ?? [], now()));
  return { code: 'TaskInitError', message: `init command ${describeEnding(ending)}`, stderr: traces.stderr, core: traces.core };
}

/** Starts the zone; undefined when init failed, which breaks the phase. */
async function start(options: Options, job: ActiveJob, phase: ActivePhase, directory: string): Promise<Zone | undefined> {
  const { isolation, dataDir, timeLimit } = options;
  const zone = await startZone({
    isolation,
    name: basename(directory),
    directory,
    dataDir,
    command: phase.exec,
    init: phase.init,
    memory: phase.memory,
    disk: phase.disk,
    environment: describeJob(options, job),
    timeLimit,
  });
  try {
    const ending = await zone.ready;
    if (ending.status === 0) return zone;
    phase.broken ??= await failInit(options, job, phase, directory, ending);
  } catch (error) {
    await zone.end();
    if (!(error instanceof TaskTooLong)) throw error;
    phase.broken ??= { code: 'TaskInitError', message: `init command took ${error.message} and was killed` };
    return undefined;
  }
  await zone.end();
  return undefined;
}

/** A zone for the tasks of a phase, with its assets and after its init. Undefined when there can be none: the phase is broken then. */
export async function openZone(options: Options, job: ActiveJob, phase: ActivePhase, directory: string): Promise<Zone | undefined> {
  try {
    await prepareZone(directory);
    const failure = await prepareAssets(options.store, job, phase.assets ?? [], directory);
    if (failure) {
      phase.broken ??= failure;
      await removeTree(directory);
      return undefined;
    }
    const zone = await start(options, job, phase, directory);
    phase.lostZones = 0;
    return zone;
  } catch (error) {
    await removeTree(directory);
    phase.lostZones += 1;
    if (phase.lostZones < mostLostZones) throw error;
    phase.broken ??= { code: 'InternalError', message: `no zone could be made: ${error instanceof Error ? error.message : String(error)}` };
    return undefined;
  }
}
