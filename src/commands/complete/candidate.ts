import type { Context, Noun } from '../../cli/command.ts';

/** A completion of the word that is being typed. */
export interface Candidate {
  readonly value: string;
  /** A description, for shells that show one. */
  readonly help?: string;
}

/** The word that is being typed, and access to the candidates for it. */
export interface Question {
  /** The word up to the cursor, without the shell's quotes. */
  readonly typed: string;
  /** The words before `typed`, without the program's name. */
  readonly words: readonly string[];
  readonly nouns: readonly Noun[];
  /** Login of the target account; empty when none is known. */
  readonly account: string;
  /** Returns the cached response under this name if it is recent, else fetches it. Responses are JSON. */
  readonly ask: <T>(name: string, fetch: (context: Context) => Promise<T>) => Promise<T>;
  /** Opens the context of commands, for what is on this machine and may change at any time. */
  readonly open: () => Promise<Context>;
}
