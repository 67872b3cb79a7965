import { monitorEventLoopDelay } from 'node:perf_hooks';
import { build } from '../../base/build.ts';
import { steps } from '../store/migrations.ts';
import { readPoolUsage } from '../store/postgres/pool.ts';
import { countWrites } from '../store/postgres/write.ts';
import type { Metrics, Sample } from './metrics.ts';

/** What gateways and workers show of themselves alike, each read when somebody asks. */
export interface MemberGauges {
  /** Milliseconds since its lease was renewed; undefined without one. */
  leaseAge(): number | undefined;
  isReady(): boolean;
}

/** Milliseconds between two measurements of the event loop. */
const loopResolution = 20;

const nanoseconds = 1e9;

/** The one series of a metric without labels; none while there is no value. */
export function some(value: number | undefined): Sample[] {
  return value === undefined ? [] : [[[], value]];
}

function showDatabase({ read }: Metrics): void {
  read({ name: 'cloud_database_connections', help: 'Connections to the database.', labels: ['state'], type: 'gauge' }, (): Sample[] => {
    const { total, idle } = readPoolUsage();
    return [
      [['idle'], idle],
      [['busy'], total - idle],
    ];
  });
  read({ name: 'cloud_database_waiting', help: 'Work that waits for a connection to the database.', type: 'gauge' }, () =>
    some(readPoolUsage().waiting),
  );
  read({ name: 'cloud_database_writes_total', help: 'Transactions committed.', type: 'counter' }, () => some(countWrites().commits));
  read(
    { name: 'cloud_database_write_retries_total', help: 'Transactions run again because others were in their way.', type: 'counter' },
    () => some(countWrites().retries),
  );
}

function showProcess({ read }: Metrics): () => void {
  const started = Date.now() / 1000 - process.uptime();
  const loop = monitorEventLoopDelay({ resolution: loopResolution });
  loop.enable();
  read({ name: 'process_start_time_seconds', help: 'When the process started, since the epoch.', type: 'gauge' }, () => some(started));
  read({ name: 'process_resident_memory_bytes', help: 'Memory of the process.', type: 'gauge' }, () => some(process.memoryUsage.rss()));
  read({ name: 'process_heap_bytes', help: 'Memory of objects of JavaScript.', type: 'gauge' }, () => some(process.memoryUsage().heapUsed));
  read({ name: 'process_cpu_seconds_total', help: 'Processor time of the process.', type: 'counter' }, () => {
    const { user, system } = process.cpuUsage();
    return some((user + system) / 1e6);
  });
  read(
    {
      name: 'cloud_event_loop_delay_seconds',
      help: 'Delay of the event loop since the last reading.',
      labels: ['statistic'],
      type: 'gauge',
    },
    (): Sample[] => {
      // The histogram holds the times between two measurements.
      const show = (value: number): number => (Number.isFinite(value) ? Math.max(0, value / nanoseconds - loopResolution / 1000) : 0);
      const samples: Sample[] = [
        [['mean'], show(loop.mean)],
        [['p99'], show(loop.percentile(99))],
        [['max'], show(loop.max)],
      ];
      loop.reset();
      return samples;
    },
  );
  return () => void loop.disable();
}

/** Adds the metrics of a process that has a lease on a database. @returns what stops measuring */
export function showMember(metrics: Metrics, gauges: MemberGauges): () => void {
  const { read } = metrics;
  const labels = ['version', 'commit', 'node', 'schema'];
  read({ name: 'cloud_build_info', help: 'The release; 1.', labels, type: 'gauge' }, (): Sample[] => [
    [[build.version, build.commit, process.versions.node, String(steps.length)], 1],
  ]);
  read({ name: 'cloud_ready', help: '1 while requests should be sent here, or tasks are taken.', type: 'gauge' }, () =>
    some(gauges.isReady() ? 1 : 0),
  );
  read({ name: 'cloud_lease_age_seconds', help: 'Time since the lease was renewed.', type: 'gauge' }, () => {
    const age = gauges.leaseAge();
    return some(age === undefined ? undefined : age / 1000);
  });
  showDatabase(metrics);
  return showProcess(metrics);
}
