/** What is to be stopped by each signal. */
const stops = new WeakMap<AbortSignal, Stops>();

class Stops {
  readonly #signal: AbortSignal;
  readonly #all = new Set<() => void>();
  readonly #stopAll = (): void => {
    for (const stop of this.#all) stop();
  };

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  add(stop: () => void): void {
    if (this.#all.size === 0) this.#signal.addEventListener('abort', this.#stopAll, { once: true });
    this.#all.add(stop);
  }

  delete(stop: () => void): void {
    if (this.#all.delete(stop) && this.#all.size === 0) this.#signal.removeEventListener('abort', this.#stopAll);
  }
}

/**
 * Calls a function when a signal aborts. All requests of a transfer have the same signal: adding and removing a listener for each costs
 * as much as writing its headers.
 */
export function stopOnAbort(signal: AbortSignal, stop: () => void): void {
  const known = stops.get(signal) ?? new Stops(signal);
  stops.set(signal, known);
  known.add(stop);
}

/** Takes back `stopOnAbort`. */
export function ignoreAbort(signal: AbortSignal, stop: () => void): void {
  stops.get(signal)?.delete(stop);
}
