/** Milliseconds over which a rate is measured. */
const rateWindow = 3000;

interface Sample {
  readonly at: number;
  readonly count: number;
}

/** How much comes in a second, over the last moments. */
export interface Rate {
  /** @param at milliseconds @param count how much came so far */
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
