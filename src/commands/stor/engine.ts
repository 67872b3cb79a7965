import { readClock } from '../../base/clock.ts';
import type { Context } from '../../cli/command.ts';
import { UsageError } from '../../base/errors.ts';
import { createThrottle, silent, type Engine } from '../../transfer/engine.ts';
import type { Monitor } from '../../base/monitor.ts';
import { createHashing } from '../../transfer/hashing.ts';
import { checkPartSize } from '../../transfer/upload/multipart.ts';
import { readCount } from '../../config/settings.ts';
import { isAlive } from '../../base/world.ts';
import { chooseParallel, mostParallel, type TransferValues } from './transfer-options.ts';

/** Connections for the listings of trees, in addition to those of the files. */
const listingConnections = 2;

/** Number of concurrent parts or ranges of one file. */
const usualStreams = 4;

/**
 * Creates the engine of transfers. `bulk`: for many or large files. `inOrder`: objects go to stdout, where ranges that arrive early wait in
 * memory; they are only fetched concurrently if the user requests it.
 */
export function createEngine(
  context: Context,
  values: Partial<TransferValues>,
  { bulk, inOrder = false, monitor }: { bulk: boolean; inOrder?: boolean; monitor?: Monitor },
): Engine {
  const { world, state, settings } = context;
  if (values.partSize !== undefined) checkPartSize(values.partSize);
  if (values.bwlimit === 0)
    throw new UsageError('--bwlimit: nothing can be sent at 0 bytes per second', { hint: 'for no limit, omit --bwlimit' });
  const usual = settings().defaultParallel;
  const limit = usual && Math.min(Math.max(readCount(usual), 1), mostParallel);
  const parallel = chooseParallel({ ...values, parallel: values.parallel ?? limit });
  const storage = bulk ? context.bulk(parallel + listingConnections) : context.storage;
  return {
    service: settings().storUrl?.value ?? '',
    storage,
    parallel,
    streams: Math.min(values.parallel ?? (inOrder ? 1 : (limit ?? usualStreams)), usualStreams),
    partSize: values.partSize,
    monitor: monitor ?? silent,
    memory: state,
    hashing: createHashing(),
    processes: { own: world.pid, isAlive: (pid) => isAlive(world, pid) },
    throttle: values.bwlimit === undefined ? undefined : createThrottle(values.bwlimit, readClock, world.interrupted),
    // The client already retries each request.
    retries: storage.retries,
    signal: world.interrupted,
  };
}
