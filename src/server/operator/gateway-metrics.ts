import type { RequestObserver } from '../http/request-observer.ts';
import { countRemoved } from '../cluster-collector.ts';
import { countWrites } from '../store/postgres/write.ts';
import type { WaitingGarbage } from './follow-garbage.ts';
import type { TaskBacklog } from './follow-tasks.ts';
import { inSeconds, showMember, type MemberState } from './member-metrics.ts';
import { createMetrics, type Metrics } from './metrics.ts';

/** State of a gateway. */
export interface GatewayState extends MemberState {
  connections?: () => number;
  /** Expiry of the certificate, milliseconds since the epoch; absent without TLS. */
  certificateEnd?: () => number;
  /** Contents that wait for removal; undefined while unknown. */
  garbage?: () => WaitingGarbage | undefined;
  /** Tasks of the cluster; undefined while unknown. */
  tasks?: () => TaskBacklog | undefined;
}

/** Upper bounds of the buckets in seconds: from a lookup in the database to a large upload. */
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

function showGarbage({ read, show }: Metrics, state: GatewayState): void {
  show('cloud_garbage_noted_total', 'Contents that this gateway left to the collector.', () => countWrites().noted);
  const removed =
    'Contents that this gateway removed as collector: that were overwritten or deleted, that nothing refers to, or that were never finished.';
  read({ name: 'cloud_garbage_removed_total', help: removed, labels: ['why'], type: 'counter' }, () =>
    Object.entries(countRemoved()).map(([why, count]) => [[why], count] as const),
  );
  show('cloud_garbage_waiting', 'Contents that wait for removal, in the whole cluster.', () => state.garbage?.()?.count);
  const oldest = 'How long the first of these contents has been waiting; 0 when there are none.';
  show('cloud_garbage_oldest_age_seconds', oldest, () => inSeconds(state.garbage?.()?.age));
}

function showTasks({ show }: Metrics, state: GatewayState): void {
  show('cloud_tasks_waiting', 'Tasks of jobs that wait for a slot, in the whole cluster.', () => state.tasks?.()?.waiting);
  const oldest = 'For how long the next task of a job has been the next; the longest of all jobs, 0 when none waits.';
  show('cloud_tasks_waiting_age_seconds', oldest, () => inSeconds(state.tasks?.()?.age));
  const capacity = 'Tasks that the running gateways and workers can run concurrently.';
  show('cloud_cluster_task_slots', capacity, () => state.tasks?.()?.slots);
}

/** The metrics of a gateway. `observer` counts its requests; `end` stops measuring. */
export function createGatewayMetrics(state: GatewayState): { write: () => string; observer: RequestObserver; end: () => void } {
  const metrics = createMetrics();
  const { show, write } = metrics;
  const end = showMember(metrics, state);
  const observer = countRequests(metrics);
  show('cloud_connections', 'Open connections of both services.', () => state.connections?.() ?? 0);
  const certificate = 'When the certificate ends, since the epoch.';
  show('cloud_certificate_end_timestamp_seconds', certificate, () => inSeconds(state.certificateEnd?.()));
  showGarbage(metrics, state);
  showTasks(metrics, state);
  return { write, observer, end };
}
