import type { Kysely } from 'kysely';
import { repeatRegularly } from '../repeat-regularly.ts';
import { foldCounts } from './counts.ts';
import type { Schema } from './schema.ts';
import { foldUsage } from './usage.ts';

/** Milliseconds between two folds. */
const pause = 5000;

/** Folds entry counts and account usage every few seconds. @returns stops folding, and resolves when no fold is in progress */
export function foldRegularly(db: Kysely<Schema>, log: (line: string) => void): () => Promise<void> {
  const fold = async (signal: AbortSignal): Promise<void> => {
    await foldCounts(db, signal);
    await foldUsage(db, signal);
  };
  const tell = (error: unknown): void => log(`counts cannot be folded: ${error instanceof Error ? error.message : String(error)}`);
  return repeatRegularly(
    (signal) => fold(signal).catch(tell),
    () => pause,
  );
}
