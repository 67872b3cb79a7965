/** Work that only the shutdown of the service waits for. */
export interface Background {
  /** Tracks `work`; its failure is logged as `jobs: WHAT failed: ...`. */
  follow(work: Promise<void>, what: string): void;
  /** Waits until no work is left, including work added meanwhile. */
  finish(): Promise<void>;
}

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
