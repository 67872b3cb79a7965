import type { Context, Noun } from '../../cli/command.ts';

/** A word that may stand where something is being typed. */
export interface Candidate {
  readonly value: string;
  /** What it is, for shells that show it. */
  readonly help?: string;
}

/** What is being typed, and where answers come from. */
export interface Question {
  /** The word up to the cursor, without the shell's quotes. */
  readonly typed: string;
  /** The words before it, without the program's own. */
  readonly words: readonly string[];
  readonly nouns: readonly Noun[];
  /** Login of the account that is acted on; empty when none is known. */
  readonly account: string;
  /** An answer of the service: a recent one if there is one under this name, else a new one. Answers are JSON. */
  readonly ask: <T>(name: string, fetch: (context: Context) => Promise<T>) => Promise<T>;
}
