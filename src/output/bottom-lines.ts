import type { OutputStream } from '../base/world.ts';

/** Lines at the bottom of a terminal that are redrawn in place. When the program ends for any reason, they remain as plain text. */
export interface BottomLines {
  /** Replaces the lines; none may be wider than the terminal. Draws nothing while the process is in the background of a shell. */
  draw(lines: readonly string[]): void;
  /** Erases the lines, so that other text can be written. */
  erase(): void;
}

/** True if lines can be redrawn: the terminal can move its cursor. */
export function canDraw({ isTerminal }: OutputStream, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && env['TERM'] !== 'dumb';
}

export function createBottomLines(err: OutputStream): BottomLines {
  let drawn = 0;
  function erase(): void {
    if (drawn > 0) err.stream.write(`\u001b[${drawn}F\u001b[J`);
    drawn = 0;
  }
  return {
    erase,
    draw: (lines) => {
      // Another program may have written since, so the lines above the cursor must not be erased.
      if (err.isForeground?.() === false) drawn = 0;
      else {
        erase();
        err.stream.write(`${lines.join('\n')}\n`);
        drawn = lines.length;
      }
    },
  };
}
