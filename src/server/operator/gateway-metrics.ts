import type { RequestObserver } from '../http/request-observer.ts';
import { countRemoved } from '../cluster-collector.ts';
import { countWrites } from '../store/postgres/write.ts';
import type { WaitingGarbage } from './follow-garbage.ts';
import type { TaskBacklog } from './follow-tasks.ts';
import { showMember, some, type MemberGauges } from './member-metrics.ts';
import { createMetrics, type Metrics } from './metrics.ts';

/** What a gateway shows of itself, each read when somebody asks. */
export interface GatewayGauges extends MemberGauges {
  connections(): number;
  /** Milliseconds since the epoch at which the certificate ends; undefined without TLS. */
  certificateEnd(): number | undefined;
  /** Contents that wait for removal; undefined while that is not known. */
  garbage(): WaitingGarbage | undefined;
  /** Tasks of the cluster; undefined while they are not known. */
  tasks(): TaskBacklog | undefined;
}

/** Upper bounds, seconds: from a look-up in the database to a large upload. */
const durations = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

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
  const refused = metrics.counter({
    name: 'cloud_requests_refused_total',
    help: 'Requests that a limit refused: account-bytes and account-objects are quotas, account-requests a rate, running-requests and memory-percent the load.',
    labels: ['service', 'limit'],
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
      if (request.limit !== undefined) refused.add([request.service, request.limit]);
      if (request.aborted) aborted.add([request.service]);
    },
  };
}

function showGarbage({ read }: Metrics, garbage: GatewayGauges['garbage']): void {
  read({ name: 'cloud_garbage_noted_total', help: 'Contents that this gateway left to the collector.', type: 'counter' }, () =>
    some(countWrites().noted),
  );
  const removed =
    'Contents that this gateway removed as collector: that were overwritten or deleted, that nothing refers to, or that were never finished.';
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

function showTasks({ read }: Metrics, tasks: GatewayGauges['tasks']): void {
  const help = 'Tasks of jobs that wait for a slot, in the whole cluster.';
  read({ name: 'cloud_tasks_waiting', help, type: 'gauge' }, () => some(tasks()?.waiting));
  const oldest = 'For how long the next task of a job has been the next; the longest of all jobs, 0 when none waits.';
  read({ name: 'cloud_tasks_waiting_age_seconds', help: oldest, type: 'gauge' }, () => {
    const age = tasks()?.age;
    return some(age === undefined ? undefined : age / 1000);
  });
  const capacity = 'Tasks that the gateways and workers which are alive do at once.';
  read({ name: 'cloud_cluster_task_slots', help: capacity, type: 'gauge' }, () => some(tasks()?.slots));
}

/** The metrics of a gateway. `observer` counts its requests; `end` stops what measures. */
export function createGatewayMetrics(gauges: GatewayGauges): { write: () => string; observer: RequestObserver; end: () => void } {
  const metrics = createMetrics();
  const { read } = metrics;
  const end = showMember(metrics, gauges);
  const observer = countRequests(metrics);
  read({ name: 'cloud_connections', help: 'Open connections of both services.', type: 'gauge' }, () => some(gauges.connections()));
  read({ name: 'cloud_certificate_end_timestamp_seconds', help: 'When the certificate ends, since the epoch.', type: 'gauge' }, () => {
    const end = gauges.certificateEnd();
    return some(end === undefined ? undefined : end / 1000);
  });
  showGarbage(metrics, () => gauges.garbage());
  showTasks(metrics, () => gauges.tasks());
  return { write: () => metrics.write(), observer, end };
}
