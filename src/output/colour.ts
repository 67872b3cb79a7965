import type { World } from '../base/world.ts';

/** The values of `--color`. */
export const colourChoices = ['auto', 'always', 'never'] as const;
export type ColourChoice = (typeof colourChoices)[number];

/**
 * Whether a stream gets colours. `--color` decides; on `auto` in this order: `NO_COLOR` (not empty) takes them away,
 * `CLICOLOR_FORCE` (not empty, not 0) gives them, `TERM=dumb` and `CLICOLOR=0` take them away, a terminal gets them.
 */
export function colourEnabled(choice: ColourChoice, env: World['env'], isTerminal: boolean): boolean {
  if (choice !== 'auto') return choice === 'always';
  if (env['NO_COLOR']) return false;
  if (env['CLICOLOR_FORCE'] && env['CLICOLOR_FORCE'] !== '0') return true;
  return isTerminal && env['TERM'] !== 'dumb' && env['CLICOLOR'] !== '0';
}

type Brush = (text: string) => string;

/** Ways to emphasise text. */
export interface Paint {
  readonly bold: Brush;
  readonly dim: Brush;
  readonly red: Brush;
  readonly yellow: Brush;
  readonly green: Brush;
  readonly cyan: Brush;
}

const keep: Brush = (text) => text;
const noPaint: Paint = { bold: keep, dim: keep, red: keep, yellow: keep, green: keep, cyan: keep };

/** Brushes that colour, or (not enabled) that leave text as it is. */
export async function createPaint(enabled: boolean): Promise<Paint> {
  if (!enabled) return noPaint;
  const { Chalk } = await import('chalk');
  // Level 1 is the 16 colours that the user's terminal theme defines; chalk's own guess must not overrule ours.
  return new Chalk({ level: 1 });
}
