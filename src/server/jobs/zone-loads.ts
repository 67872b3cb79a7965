import type { ActiveJob, ActivePhase, ActiveZone } from './active-job.ts';

/** Milliseconds of a task after which none waits behind it in the same zone. */
const lateTime = 250;

/** How busy the zones of all jobs are. */
export interface ZoneLoads {
  /** Zones that work or are being made. */
  readonly busy: number;
  /** Zones that wait for work. */
  readonly idle: number;
  /** Counts a zone as busy while `make` makes it, and as idle when it has become one of the phase. */
  open(phase: ActivePhase, make: () => Promise<ActiveZone | undefined>): Promise<void>;
  /** Counts tasks that begin (1) or are over (-1) in a zone. */
  change(active: ActiveZone, change: 1 | -1): void;
  /** Ends a zone of a phase. */
  end(phase: ActivePhase, active: ActiveZone): Promise<void>;
  /** Ends all zones of a job, also those that are being made. */
  endAll(job: ActiveJob): Promise<void>;
}

/** Makes the count, with no zones. */
export function createZoneLoads(): ZoneLoads {
  let busy = 0;
  let idle = 0;

  /** Gives what waits behind a task that takes long to others. */
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
