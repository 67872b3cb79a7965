import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { discardContents } from '../storage/garbage.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import type { Phase } from '../../api/objects.ts';
import type { Store } from '../store/store.ts';
import type { ActiveJob, ActivePhase } from './active-job.ts';
import { rootDirectory, streamDirectory, type Isolation } from './isolation.ts';
import { prepareAssets } from './prepare.ts';
import { countReducers, readPhases } from './phases.ts';
import { createOutputBudget } from './output-budget.ts';
import { openOutputRoom } from './output-room.ts';
import { putObjects } from './record-objects.ts';
import { removeTree } from './remove-tree.ts';
import { baseOf, describeEnding, saveTraces } from './results.ts';
import { LimitReached, TaskTooLong } from './zone-queue.ts';
import { prepareZone, startZone, type Zone } from './zone.ts';
import type { Failure, Ending } from './outcome.ts';
import { passingPause, type EngineOptions } from './engine-options.ts';

/** Number of consecutive zones that fail to start before the phase is given up. */
const mostLostZones = 3;

type Options = Omit<EngineOptions, 'isolation'> & {
  readonly isolation: Isolation;
  readonly timeLimit: number;
  /** True if the zone is no longer needed: its job was cancelled or is ending, or the service is shutting down. */
  isUnwanted(): boolean;
};

function describeJob({ url }: Options, { id, account, phases }: ActiveJob, { number }: ActivePhase): Record<string, string> {
  const facts = { JOB_ID: id, USER: account.login, URL: url() };
  const described = Object.entries(facts).flatMap(([name, value]) => [`MANTA_${name}`, `CLOUD_${name}`].map((key) => [key, value]));
  const next = phases[number + 1];
  return { ...Object.fromEntries(described), CLOUD_REDUCERS: String(next ? countReducers(next) : 0) };
}

/** The failure of all tasks of a phase whose init failed. The output of init is stored now, once for all tasks, if the account has room. */
async function failInit(
  { store, now, serviceLimits }: Options,
  job: ActiveJob,
  phase: ActivePhase,
  directory: string,
  ending: Ending,
): Promise<Failure> {
  const base = baseOf(job, phase.number, null).replace(/reduce\.(\d+)\.$/u, 'init.$1.');
  const traces = await saveTraces(store, {
    stderr: join(streamDirectory(directory), 'err', 'init'),
    directory: join(rootDirectory(directory), 'home'),
    base,
    now,
    signal: job.stopping.signal,
    reserve: createOutputBudget(store, { phase }, { serviceLimits }),
  });
  const isStored = await store.write(async (transaction) => {
    const objects = traces.objects ?? [];
    const takeRoom = await openOutputRoom(transaction, { serviceLimits }, objects);
    if (takeRoom(objects) !== undefined) return false;
    await putObjects(transaction, objects, now());
    return true;
  });
  if (!isStored) await discardContents(store, traces.objects ?? []);
  return {
    code: 'TaskInitError',
    message: ending.limit === undefined ? `init command ${describeEnding(ending)}` : `init command: ${ending.limit}`,
    machine: basename(directory),
    ...(isStored && { stderr: traces.stderr, core: traces.core }),
  };
}

/** Reads a phase as the job was created with it. */
async function readPhase({ db }: Store, { id }: ActiveJob, { number }: ActivePhase): Promise<Phase> {
  const row = await db.selectFrom('jobs').select('phases').where('id', '=', id).executeTakeFirstOrThrow();
  const phase = readPhases(row)[number];
  if (phase === undefined) throw new Error(`job ${id} has no phase ${number}`);
  return phase;
}

/** A place for a zone: its directory, and the phase as the job was created with it. */
interface ZonePlace {
  readonly directory: string;
  readonly created: Phase;
}

/** Starts a zone; undefined if init failed, which breaks the phase. The zone can be ended even while it is starting. */
async function start(options: Options, job: ActiveJob, phase: ActivePhase, { directory, created }: ZonePlace): Promise<Zone | undefined> {
  const { isolation, timeLimit } = options;
  const zone = await startZone({
    isolation,
    name: basename(directory),
    directory,
    command: created.exec,
    init: created.init,
    memory: created.memory,
    disk: created.disk,
    environment: describeJob(options, job, phase),
    timeLimit,
  });
  phase.starting.add(zone);
  try {
    // Whatever fails here fails again below.
    if (options.isUnwanted()) zone.end().catch(() => undefined);
    const ending = await zone.ready;
    if (ending.status === 0 && ending.limit === undefined) return zone;
    phase.broken ??= await failInit(options, job, phase, directory, ending);
  } catch (error) {
    await zone.end();
    if (!(error instanceof TaskTooLong || error instanceof LimitReached)) throw error;
    const why = error instanceof LimitReached ? `init command: ${error.message}` : `init command took ${error.message} and was killed`;
    phase.broken ??= { code: 'TaskInitError', message: why, machine: zone.name };
    return undefined;
  } finally {
    phase.starting.delete(zone);
  }
  await zone.end();
  return undefined;
}

/**
 * Opens a zone for the tasks of a phase: with its assets, and after its init. Undefined if that is impossible, and then the phase is
 * broken.
 */
export async function openZone(options: Options, job: ActiveJob, phase: ActivePhase, directory: string): Promise<Zone | undefined> {
  try {
    const created = await readPhase(options.store, job, phase);
    const identity = options.isolation.identify(basename(directory));
    await prepareZone(directory, identity);
    const failure = await prepareAssets(options.store, job, created.assets ?? [], { directory, identity });
    if (failure) {
      phase.broken ??= failure;
      await removeTree(directory);
      return undefined;
    }
    const zone = await start(options, job, phase, { directory, created });
    phase.lostZones = 0;
    return zone;
  } catch (error) {
    await removeTree(directory);
    if (options.isUnwanted()) return undefined;
    if (error instanceof StoreUnavailable) {
      await sleep(passingPause);
      throw error;
    }
    phase.lostZones += 1;
    if (phase.lostZones < mostLostZones) throw error;
    phase.broken ??= {
      code: 'InternalError',
      message: `no zone could be created: ${error instanceof Error ? error.message : String(error)}`,
    };
    return undefined;
  }
}
