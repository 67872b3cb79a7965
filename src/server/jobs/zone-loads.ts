import type { ActiveJob, ActivePhase, ActiveZone } from './active-job.ts';

/** If a task takes longer than this (milliseconds), no task waits behind it in its zone. */
const lateTime = 250;

/** Counts busy and idle zones of all jobs. */
export interface ZoneLoads {
  /** Number of zones that work or are being opened. */
  readonly busy: number;
  /** Number of zones that wait for work. */
  readonly idle: number;
  /** Counts a zone as busy while `make` opens it, and as idle once it belongs to the phase. */
  open(phase: ActivePhase, make: () => Promise<ActiveZone | undefined>): Promise<void>;
  /** Counts a task that begins (1) or ends (-1) in a zone. */
  change(active: ActiveZone, change: 1 | -1): void;
  /** Ends a zone of a phase. */
  end(phase: ActivePhase, active: ActiveZone): Promise<void>;
  /** Ends all zones of a job, including those being opened. */
  endAll(job: ActiveJob): Promise<void>;
}

export function createZoneLoads(): ZoneLoads {
  let busy = 0;
  let idle = 0;

  /** Withdraws the tasks behind a slow task, so that other zones can run them. */
  function watch(active: ActiveZone): void {
    active.isLate = false;
    if (active.timer && active.load > 0) return void active.timer.refresh();
    clearTimeout(active.timer);
    const takeBack = (): void => {
      active.isLate = true;
      if (active.load > 1) active.zone.takeBack();
    };
    active.timer = active.load === 0 ? undefined : setTimeout(takeBack, lateTime);
  }

  function shift(by: 1 | -1): void {
    busy += by;
    idle -= by;
  }

  async function end(phase: ActivePhase, active: ActiveZone): Promise<void> {
    if (phase.zones.delete(active) && active.load === 0) idle -= 1;
    clearTimeout(active.timer);
    await active.zone.end();
  }

  return {
    get busy() {
      return busy;
    },
    get idle() {
      return idle;
    },
    open: async (phase, make) => {
      phase.opening += 1;
      busy += 1;
      try {
        const active = await make();
        if (!active) return;
        phase.zones.add(active);
        idle += 1;
      } finally {
        phase.opening -= 1;
        busy -= 1;
      }
    },
    change: (active, change) => {
      const before = active.load;
      active.load += change;
      if (before === 0) shift(1);
      if (active.load === 0) shift(-1);
      if (before === 0 || change < 0) watch(active);
    },
    end,
    endAll: async (job) => {
      const ended = job.phases.flatMap((phase) => [
        ...[...phase.zones].map((active) => end(phase, active)),
        ...[...phase.starting].map((zone) => zone.end()),
      ]);
      await Promise.all(ended);
    },
  };
}
