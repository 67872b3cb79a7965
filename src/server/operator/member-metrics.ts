import { monitorEventLoopDelay } from 'node:perf_hooks';
import { build } from '../../base/build.ts';
import { steps } from '../store/migrations.ts';
import { describeSkew } from '../store/postgres/clock-skew.ts';
import type { Lease } from '../store/postgres/lease.ts';
import { readPoolUsage } from '../store/postgres/pool.ts';
import { countWrites } from '../store/postgres/write.ts';
import type { Metrics, Sample } from './metrics.ts';

/** State of a gateway or worker, completed as it starts. */
export interface MemberState {
  phase: 'starting' | 'serving' | 'draining';
  /** `age` returns the milliseconds since the lease was renewed. */
  lease?: Pick<Lease, 'age' | 'isLost' | 'skew' | 'isAstray'>;
}

/** Why a gateway should get no requests, or why a worker takes no tasks or dates its results wrongly; undefined if it is ready. */
export function findUnready({ phase, lease }: MemberState): string | undefined {
  if (phase !== 'serving') return phase;
  if (lease?.isLost() === true) return 'the lease is lost';
  return lease?.isAstray() === true ? describeSkew(lease.skew()) : undefined;
}

/** Milliseconds between two samples of the event loop delay. */
const loopResolution = 20;

const nanoseconds = 1e9;

export function inSeconds(time: number | undefined): number | undefined {
  return time === undefined ? undefined : time / 1000;
}

function showDatabase({ read, show }: Metrics): void {
  read({ name: 'cloud_database_connections', help: 'Connections to the database.', labels: ['state'], type: 'gauge' }, (): Sample[] => {
    const { total, idle } = readPoolUsage();
    return [
      [['idle'], idle],
      [['busy'], total - idle],
    ];
  });
  show('cloud_database_waiting', 'Work that waits for a connection to the database.', () => readPoolUsage().waiting);
  show('cloud_database_writes_total', 'Transactions committed.', () => countWrites().commits);
  show('cloud_database_write_retries_total', 'Transactions run again because others were in their way.', () => countWrites().retries);
}

function showProcess({ read, show }: Metrics): () => void {
  const started = Date.now() / 1000 - process.uptime();
  const loop = monitorEventLoopDelay({ resolution: loopResolution });
  loop.enable();
  show('process_start_time_seconds', 'When the process started, since the epoch.', () => started);
  show('process_resident_memory_bytes', 'Memory of the process.', () => process.memoryUsage.rss());
  show('process_heap_bytes', 'Memory of objects of JavaScript.', () => process.memoryUsage().heapUsed);
  show('process_cpu_seconds_total', 'Processor time of the process.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  const delay = { name: 'cloud_event_loop_delay_seconds', help: 'Delay of the event loop since the last reading.' };
  read({ ...delay, labels: ['statistic'], type: 'gauge' }, (): Sample[] => {
    // The histogram holds the intervals between two samples.
    const read = (value: number): number => (Number.isFinite(value) ? Math.max(0, value / nanoseconds - loopResolution / 1000) : 0);
    const samples: Sample[] = [
      [['mean'], read(loop.mean)],
      [['p99'], read(loop.percentile(99))],
      [['max'], read(loop.max)],
    ];
    loop.reset();
    return samples;
  });
  return () => void loop.disable();
}

/** Adds the metrics of a process that holds a lease on a database. @returns a function that stops measuring */
export function showMember(metrics: Metrics, state: MemberState): () => void {
  const { read, show } = metrics;
  const labels = ['version', 'commit', 'node', 'schema'];
  read({ name: 'cloud_build_info', help: 'The release; 1.', labels, type: 'gauge' }, (): Sample[] => [
    [[build.version, build.commit, process.versions.node, String(steps.length)], 1],
  ]);
  const ready = '1 while requests should be sent here, or tasks are taken.';
  show('cloud_ready', ready, () => (findUnready(state) === undefined ? 1 : 0));
  show('cloud_lease_age_seconds', 'Time since the lease was renewed.', () => inSeconds(state.lease?.age()));
  show('cloud_clock_skew_seconds', "Time by which the clock is ahead of the database's.", () => inSeconds(state.lease?.skew()));
  showDatabase(metrics);
  return showProcess(metrics);
}
