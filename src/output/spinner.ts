import type { OutputStream, World } from '../base/world.ts';
import { escapeControl } from './escape.ts';

/** Conditions that disable the spinner. */
export interface SpinnerOptions {
  readonly quiet?: boolean;
  /** Environment with `TERM`. */
  readonly env?: World['env'];
}

/** Milliseconds before the spinner is shown; shorter work does not load ora. */
const timeoutMs = 200;

interface Spinner {
  text: string;
  stop: () => unknown;
}

async function startSpinner(err: OutputStream, text: string): Promise<Spinner> {
  const { default: ora } = await import('ora');
  // Discarding stdin would put the terminal into raw mode, where Ctrl-C sends no signal.
  return ora({ text, stream: err.stream, isEnabled: true, discardStdin: false, color: false }).start();
}

/** True for a terminal that reports a width of 0: to erase text, ora would move up over infinitely many lines. */
function hasNoWidth({ stream }: OutputStream): boolean {
  return 'columns' in stream && stream.columns === 0;
}

/**
 * Shows a spinner on stderr while work runs; `update` changes its text. No spinner without a terminal, with `quiet`, on dumb terminals and
 * on terminals without a width. Returns or throws what the work does; in both cases the line is erased and the cursor restored.
 */
export async function withSpinner<T>(
  err: OutputStream,
  text: string,
  work: (update: (text: string) => void) => Promise<T>,
  { quiet = false, env = {} }: SpinnerOptions = {},
): Promise<T> {
  if (!err.isTerminal || quiet || env['TERM'] === 'dumb' || hasNoWidth(err)) return work(() => undefined);
  let current = escapeControl(text);
  let spinner: Spinner | undefined;
  let isDone = false;
  let starting: Promise<void> | undefined;

  async function start(): Promise<void> {
    const begun = await startSpinner(err, current);
    begun.text = current;
    spinner = begun;
    if (isDone) begun.stop();
  }
  const timer = setTimeout(() => {
    if (err.isForeground?.() !== false) starting = start();
  }, timeoutMs);

  try {
    return await work((text) => {
      current = escapeControl(text);
      if (spinner !== undefined) spinner.text = current;
    });
  } finally {
    isDone = true;
    clearTimeout(timer);
    await starting;
    spinner?.stop();
  }
}
