/** Work that nobody waits for, but the end of the service. */
export interface Background {
  /** Keeps work; its failure is logged as `jobs: WHAT failed: ...`. */
  follow(work: Promise<void>, what: string): void;
  /** Waits until there is none, whatever is added meanwhile. */
  finish(): Promise<void>;
}

/** Keeps work in the background. */
export function createBackground(log: (line: string) => void): Background {
  const works = new Set<Promise<void>>();
  return {
    follow: (work, what) => {
      const followed = work
        .catch((error: unknown) => log(`jobs: ${what} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`))
        .finally(() => works.delete(followed));
      works.add(followed);
    },
    finish: async () => {
      while (works.size > 0) await Promise.all(works);
    },
  };
}
