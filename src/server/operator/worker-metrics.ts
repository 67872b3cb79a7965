import type { TaskObserver } from '../jobs/engine-options.ts';
import { mostLosses } from '../jobs/leases.ts';
import { showMember, type MemberState } from './member-metrics.ts';
import { createMetrics } from './metrics.ts';

/** The metrics of a worker. `observer` counts its tasks; `end` stops measuring. */
export function createWorkerMetrics(state: MemberState): { write: () => string; observer: TaskObserver; end: () => void } {
  const metrics = createMetrics();
  const end = showMember(metrics, state);
  const outcomes = metrics.counter({
    name: 'cloud_task_outcomes_total',
    help: 'Tasks that were done here: output, failure, or retry where the worker itself failed them.',
    labels: ['outcome'],
  });
  for (const kind of ['output', 'failure', 'retry']) outcomes.add([kind], 0);
  const refused = metrics.counter({
    name: 'cloud_tasks_refused_total',
    help: 'Outcomes among them that do not count, because others had taken the tasks.',
  });
  const abandoned = metrics.counter({
    name: 'cloud_tasks_abandoned_total',
    help: 'Tasks that failed because each worker that did them was lost.',
  });
  const takenOver = metrics.counter({
    name: 'cloud_tasks_taken_over_total',
    help: 'Tasks of workers that were not heard of again, made to wait for another by this one.',
  });
  let [slots, readBusy] = [0, (): number => 0];
  const gauge = { labels: ['state'], type: 'gauge' } as const;
  metrics.read({ ...gauge, name: 'cloud_task_slots', help: 'Tasks that this worker can run concurrently.' }, () => {
    const busy = Math.min(slots, readBusy());
    return [
      [['busy'], busy],
      [['idle'], slots - busy],
    ];
  });
  return {
    write: () => metrics.write(),
    end,
    observer: {
      started: (most, busy) => void ([slots, readBusy] = [most, busy]),
      recorded: (results, late) => {
        for (const { kind, task } of results) {
          outcomes.add([kind]);
          if (kind === 'failure' && task.lost >= mostLosses) abandoned.add([]);
        }
        refused.add([], late);
      },
      takenOver: (tasks) => takenOver.add([], tasks),
    },
  };
}
