import { setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { usesTerminal } from './streams.ts';
import type { EndSignal } from './base/world.ts';

/** The signals of the process, for `main.ts`: which of them interrupt the program, and which it ignores. */

const signals: readonly EndSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Shells, whose children inherit ignored signals on purpose; in other programs, `system()` ignores signals in the parent only. */
const shells = /^-?(?:ba|da|z|k|mk|a|fi)?sh$/;
/** Bit of SIGINT in `SigIgn` of /proc/PID/status. */
const interruptBit = 1n << 1n;

/** True if the parent is a shell that ignores SIGINT (`trap '' INT`), as its children should. Node.js resets inherited dispositions. */
function isInterruptIgnored(): boolean {
  try {
    const status = readFileSync(`/proc/${process.ppid}/status`, 'latin1');
    const [, name = ''] = /^Name:\t(.*)$/m.exec(status) ?? [];
    const [, ignored = '0'] = /^SigIgn:\t([\da-f]+)$/m.exec(status) ?? [];
    return shells.test(name) && (BigInt(`0x${ignored}`) & interruptBit) !== 0n;
  } catch {
    return false;
  }
}

/** Signals that must not end the program: SIGHUP if it uses no terminal, and signals that the parent process ignores. */
function findIgnored(): Set<EndSignal> {
  const named = new Set((process.env['CLOUD_IGNORE_SIGNALS'] ?? '').toUpperCase().split(/[\s,]+/));
  const isIgnored = (name: EndSignal): boolean => {
    if (named.has(name) || named.has(name.slice('SIG'.length))) return true;
    if (name === 'SIGHUP') return !usesTerminal();
    return name === 'SIGINT' && isInterruptIgnored();
  };
  return new Set(signals.filter(isIgnored));
}

/** Milliseconds within which a second signal is the first once more: `timeout` sends one to the program and one to its group. */
const sameSignal = 200;

/** Milliseconds after which a command without cleanup checks which signals to ignore. */
const longRun = 200;

/** Makes a command that needs no cleanup survive signals that it should ignore. Delayed, because most commands end earlier. */
export function keepRunning(): void {
  const ignore = (): void => findIgnored().forEach((name) => process.on(name, () => undefined));
  // A short command ends before this turn of the event loop, and creates no timer.
  setImmediate(() => void setTimeout(ignore, longRun).unref());
}

/** Creates the signal that interrupts the program. Until it is first used, no work needs cleanup, and signals have their default effect. */
export function listenForInterruption(onSignal: (name: EndSignal) => void): AbortSignal {
  const interruption = new AbortController();
  // Each waiting transfer adds a listener: many listeners are no leak.
  setMaxListeners(0, interruption.signal);
  const ignored = findIgnored();
  for (const name of signals) {
    process.on(name, () => {
      if (ignored.has(name)) return;
      onSignal(name);
      interruption.abort();
    });
  }
  const obey = (): void => obeySignals(signals.filter((name) => !ignored.has(name)));
  // From then on a signal ends the process immediately.
  interruption.signal.addEventListener('abort', () => void setTimeout(obey, sameSignal).unref());
  return interruption.signal;
}

/** Does work during which signals have their default effect. */
export function runKillable<T>(work: () => T): T {
  const kept = signals.map((signal) => ({ signal, listeners: process.listeners(signal) }));
  obeySignals();
  try {
    return work();
  } finally {
    for (const { signal, listeners } of kept) for (const listener of listeners) process.on(signal, listener);
  }
}

/** Gives signals to a listener instead of all others, until the returned function is called. */
export function takeSignals(receive: (name: EndSignal) => void): () => void {
  const ignored = findIgnored();
  const taken = signals.map((name) => {
    const others = process.listeners(name);
    const listener = (): void => {
      if (!ignored.has(name)) receive(name);
    };
    // At no time without a listener: the signal would end the process.
    process.on(name, listener);
    others.forEach((other) => process.off(name, other));
    return { name, listener, others };
  });
  return () => {
    for (const { name, listener, others } of taken) {
      others.forEach((other) => process.on(name, other));
      process.off(name, listener);
    }
  };
}

/** Restores the default effect of signals: a thread that waits for a device would otherwise keep the process from ending. */
function obeySignals(names: readonly EndSignal[] = signals): void {
  for (const name of names) process.removeAllListeners(name);
}

/** Ends the process by the signal, after all work: with exit code 130 alone, a shell would continue its loop and systemd report success. */
export function endBySignal(name: EndSignal): void {
  obeySignals();
  process.on('exit', () => void process.kill(process.pid, name));
}

/** Calls `work` before one of these signals ends the process, to restore the terminal. */
export function beforeHangup(work: () => void): () => void {
  const names = ['SIGHUP', 'SIGQUIT'] as const;
  const listeners = names.map((name) => {
    const end = (): void => {
      work();
      process.off(name, end);
      process.kill(process.pid, name);
    };
    process.on(name, end);
    return { name, end };
  });
  return () => listeners.forEach(({ name, end }) => process.off(name, end));
}
