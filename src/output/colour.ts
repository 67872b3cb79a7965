import type { World } from '../base/world.ts';

/** The values of `--color`. */
export const colourChoices = ['auto', 'always', 'never'] as const;
export type ColourChoice = (typeof colourChoices)[number];

/**
 * True if a stream gets colours. `--color` decides; on `auto`, the first that applies: `NO_COLOR` (not empty) disables them,
 * `CLICOLOR_FORCE` (not empty, not 0) enables them, `TERM=dumb` and `CLICOLOR=0` disable them, a terminal enables them.
 */
export function colourEnabled(choice: ColourChoice, env: World['env'], isTerminal: boolean): boolean {
  if (choice !== 'auto') return choice === 'always';
  if (env['NO_COLOR']) return false;
  if (env['CLICOLOR_FORCE'] && env['CLICOLOR_FORCE'] !== '0') return true;
  return isTerminal && env['TERM'] !== 'dumb' && env['CLICOLOR'] !== '0';
}

type Style = (text: string) => string;

/** Functions that style text. */
export interface Paint {
  readonly bold: Style;
  readonly dim: Style;
  readonly red: Style;
  readonly yellow: Style;
  readonly green: Style;
  readonly cyan: Style;
}

const keep: Style = (text) => text;
const noPaint: Paint = { bold: keep, dim: keep, red: keep, yellow: keep, green: keep, cyan: keep };

/** Functions that style text, or return it unchanged if not enabled. */
export async function createPaint(enabled: boolean): Promise<Paint> {
  if (!enabled) return noPaint;
  const { Chalk } = await import('chalk');
  // Level 1 is the 16 colours of the terminal's theme; it also overrides chalk's own detection.
  return new Chalk({ level: 1 });
}
