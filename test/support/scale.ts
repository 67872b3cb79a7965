/** How much a proof or a benchmark does: the short form runs in CI, the long one is judged by its figures too (CLOUD_SCALE=long). */
export const isLong = process.env['CLOUD_SCALE'] === 'long';

/** A count or a size for either form. */
export function scale(short: number, long: number): number {
  return isLong ? long : short;
}

/** What random numbers start from: the same seed makes the same run again (CLOUD_SEED). */
export const seed = Number(process.env['CLOUD_SEED'] ?? Date.now() % 1_000_000);
