import type { OutputStream } from '../base/world.ts';

/** Lines below everything else on a terminal, drawn anew in their own place. Whatever ends the program leaves them as plain text. */
export interface BottomLines {
  /** Draws these lines in the place of those before, none wider than the terminal. In the background of a shell nothing is drawn. */
  draw(lines: readonly string[]): void;
  /** Takes them away, so that something else can be written. */
  erase(): void;
}

/** Whether lines can be drawn: the cursor can be moved. */
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
      // The lines above the cursor are not ours any more.
      if (err.isForeground?.() === false) drawn = 0;
      else {
        erase();
        err.stream.write(`${lines.join('\n')}\n`);
        drawn = lines.length;
      }
    },
  };
}
