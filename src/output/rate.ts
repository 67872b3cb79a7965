/** Milliseconds over which a rate is measured. */
const rateWindow = 3000;

interface Sample {
  readonly at: number;
  readonly count: number;
}

/** Computes a rate per second over the last `rateWindow` milliseconds. */
export interface Rate {
  /** @param at milliseconds @param count total so far @returns the rate per second */
  add(at: number, count: number): number;
}

export function createRate(): Rate {
  const samples: Sample[] = [];
  return {
    add: (at, count) => {
      samples.push({ at, count });
      while (samples.length > 2 && at - (samples[0]?.at ?? at) > rateWindow) samples.shift();
      const first = samples[0] ?? { at, count };
      return at === first.at ? 0 : Math.max(0, ((count - first.count) / (at - first.at)) * 1000);
    },
  };
}
