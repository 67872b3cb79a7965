/** Eighths of a character, from none to seven. */
const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** Draws a share from 0 to 1 as a bar, padded with blanks to `width` characters. */
export function drawBar(share: number, width: number): string {
  const parts = Math.round(Math.min(1, Math.max(0, Number.isNaN(share) ? 0 : share)) * width * 8);
  return `${'█'.repeat(Math.floor(parts / 8))}${eighths[parts % 8] ?? ''}`.padEnd(width);
}
