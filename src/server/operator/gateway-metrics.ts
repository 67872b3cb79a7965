import { monitorEventLoopDelay } from 'node:perf_hooks';
import { build } from '../../base/build.ts';
import type { RequestObserver } from '../http/request-observer.ts';
import { steps } from '../store/migrations.ts';
import { readPoolUsage } from '../store/postgres/pool.ts';
import { countWrites } from '../store/postgres/write.ts';
import { countRemoved } from '../cluster-collector.ts';
import type { WaitingGarbage } from './follow-garbage.ts';
import { createMetrics, type Metrics, type Sample } from './metrics.ts';

/** What a gateway shows of itself, each read when somebody asks. */
export interface GatewayGauges {
  /** Milliseconds since its lease was renewed; undefined without one. */
  leaseAge(): number | undefined;
  isReady(): boolean;
  connections(): number;
  /** Milliseconds since the epoch at which the certificate ends; undefined without TLS. */
  certificateEnd(): number | undefined;
  /** Contents that wait for removal; undefined while that is not known. */
  garbage(): WaitingGarbage | undefined;
}

/** Upper bounds, seconds: from a look-up in the database to a large upload. */
const durations = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

/** Milliseconds between two measurements of the event loop. */
const loopResolution = 20;

const nanoseconds = 1e9;

function some(value: number | undefined): Sample[] {
  return value === undefined ? [] : [[[], value]];
}

function countRequests(metrics: Metrics): RequestObserver {
  const service = ['service'];
  const requests = metrics.counter({
    name: 'cloud_requests_total',
    help: 'Requests whose response was sent, or whose client went away. Status 0: the connection was closed instead.',
    labels: ['service', 'operation', 'status'],
  });
  const duration = metrics.histogram({
    name: 'cloud_request_duration_seconds',
    help: 'Time from the headers of a request to the last byte of its response.',
    labels: ['service', 'operation'],
    bounds: durations,
  });
  const received = metrics.counter({ name: 'cloud_request_bytes_total', help: 'Bytes of the bodies of requests.', labels: service });
  const sent = metrics.counter({ name: 'cloud_response_bytes_total', help: 'Bytes of the bodies of responses.', labels: service });
  const aborted = metrics.counter({
    name: 'cloud_requests_aborted_total',
    help: 'Requests whose client went away before it had the whole response.',
    labels: service,
  });
  const running = new Map([
    ['compute', 0],
    ['storage', 0],
  ]);
  metrics.read({ name: 'cloud_requests_running', help: 'Requests under way.', labels: service, type: 'gauge' }, () =>
    [...running].map(([name, value]) => [[name], value] as const),
  );
  const change = (name: string, by: number): void => void running.set(name, (running.get(name) ?? 0) + by);
  return {
    begun: (name) => change(name, 1),
    ended: (request) => {
      const { operation = 'unknown', status, ms, bytesIn, bytesOut } = request;
      change(request.service, -1);
      requests.add([request.service, operation, String(status)]);
      duration.observe([request.service, operation], ms / 1000);
      received.add([request.service], bytesIn);
      sent.add([request.service], bytesOut);
      if (request.aborted) aborted.add([request.service]);
    },
  };
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

function showGarbage({ read }: Metrics, garbage: GatewayGauges['garbage']): void {
  read({ name: 'cloud_garbage_noted_total', help: 'Contents that this gateway left to the collector.', type: 'counter' }, () =>
    some(countWrites().noted),
  );
  const removed = 'Contents that this gateway removed as collector: that were overwritten or deleted, or that nothing refers to.';
  read({ name: 'cloud_garbage_removed_total', help: removed, labels: ['why'], type: 'counter' }, () =>
    Object.entries(countRemoved()).map(([why, count]) => [[why], count] as const),
  );
  read({ name: 'cloud_garbage_waiting', help: 'Contents that wait for removal, in the whole cluster.', type: 'gauge' }, () =>
    some(garbage()?.count),
  );
  const oldest = 'How long the first of these contents has been waiting; 0 when there are none.';
  read({ name: 'cloud_garbage_oldest_age_seconds', help: oldest, type: 'gauge' }, () => {
    const age = garbage()?.age;
    return some(age === undefined ? undefined : age / 1000);
  });
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

/** The metrics of a gateway. `observer` counts its requests; `end` stops what measures. */
export function createGatewayMetrics(gauges: GatewayGauges): { write: () => string; observer: RequestObserver; end: () => void } {
  const metrics = createMetrics();
  const { read } = metrics;
  const labels = ['version', 'commit', 'node', 'schema'];
  read({ name: 'cloud_build_info', help: 'The release; 1.', labels, type: 'gauge' }, (): Sample[] => [
    [[build.version, build.commit, process.versions.node, String(steps.length)], 1],
  ]);
  const observer = countRequests(metrics);
  read({ name: 'cloud_connections', help: 'Open connections of both services.', type: 'gauge' }, () => some(gauges.connections()));
  read({ name: 'cloud_ready', help: '1 while requests should be sent here.', type: 'gauge' }, () => some(gauges.isReady() ? 1 : 0));
  read({ name: 'cloud_lease_age_seconds', help: 'Time since the lease of this gateway was renewed.', type: 'gauge' }, () => {
    const age = gauges.leaseAge();
    return some(age === undefined ? undefined : age / 1000);
  });
  read({ name: 'cloud_certificate_end_timestamp_seconds', help: 'When the certificate ends, since the epoch.', type: 'gauge' }, () => {
    const end = gauges.certificateEnd();
    return some(end === undefined ? undefined : end / 1000);
  });
  showDatabase(metrics);
  showGarbage(metrics, () => gauges.garbage());
  const end = showProcess(metrics);
  return { write: () => metrics.write(), observer, end };
}
