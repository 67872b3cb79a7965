import type { OutputStream, World } from '../base/world.ts';
import { escapeControl } from './escape.ts';

/** When no spinner is wanted. */
export interface SpinnerOptions {
  readonly quiet?: boolean;
  /** For `TERM`. */
  readonly env?: World['env'];
  readonly colour?: boolean;
}

/** Work that is done sooner than this, in milliseconds, shows nothing and loads nothing. */
const patience = 200;

/** A spinner that began, and how it ends. */
interface Spinner {
  text: string;
  stop: () => unknown;
}

async function startSpinner(err: OutputStream, text: string, colour: boolean): Promise<Spinner> {
  const { default: ora } = await import('ora');
  // Discarding stdin would put the terminal into raw mode, where Ctrl-C is no signal.
  return ora({ text, stream: err.stream, isEnabled: true, discardStdin: false, color: colour ? 'cyan' : false }).start();
}

/** A terminal that does not tell its width: erasing a text there would mean to move up over endlessly many lines. */
function hasNoWidth({ stream }: OutputStream): boolean {
  return 'columns' in stream && stream.columns === 0;
}

/**
 * Does work behind a spinner on stderr, whose text the work can change. Without a terminal, with `quiet`, on dumb terminals and on
 * those without a width there is no spinner. Returns or throws what the work does; the spinner's line is erased and the cursor is back either way.
 */
export async function withSpinner<T>(
  err: OutputStream,
  text: string,
  work: (update: (text: string) => void) => Promise<T>,
  { quiet = false, env = {}, colour = false }: SpinnerOptions = {},
): Promise<T> {
  if (!err.isTerminal || quiet || env['TERM'] === 'dumb' || hasNoWidth(err)) return work(() => undefined);
  let current = escapeControl(text);
  let spinner: Spinner | undefined;
  let isDone = false;
  let starting: Promise<void> | undefined;

  async function start(): Promise<void> {
    const begun = await startSpinner(err, current, colour);
    begun.text = current;
    spinner = begun;
    if (isDone) begun.stop();
  }
  const timer = setTimeout(() => {
    if (err.isForeground?.() !== false) starting = start();
  }, patience);

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
