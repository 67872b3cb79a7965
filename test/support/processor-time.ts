import { readdirSync, readFileSync } from 'node:fs';

/** Processor time of processes, as Linux counts it in /proc (proc(5)). */

/** Milliseconds of processor time that this process has used so far. How busy the machine is decides nothing. */
export function readTimeHere(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Ticks in a second, on every architecture that Node.js runs on. */
const ticks = 100;

interface Process {
  readonly parent: number;
  /** Ticks of the process itself. */
  readonly own: number;
  /** Those, and the ones of its children that have ended and were waited for. */
  readonly time: number;
}

function readProcess(pid: number): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Behind the name, which may have blanks and brackets: state, parent, ... and utime, stime, cutime, cstime as 14 to 17 of all.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const sum = (times: readonly number[]): number => times.reduce((total, each) => total + each, 0);
    return { parent: fields[1] ?? 0, own: sum(fields.slice(11, 13)), time: sum(fields.slice(11, 15)) };
  } catch {
    // It has ended meanwhile: its parent has its time.
    return undefined;
  }
}

/** Seconds that processes have used so far, without those that they have started. */
export function readOwnTime(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (readProcess(pid)?.own ?? 0), 0) / ticks;
}

/** Seconds that processes and everything below them have used so far. */
export function readProcessorTime(roots: readonly number[]): number {
  const processes = new Map<number, Process>();
  for (const name of readdirSync('/proc')) {
    const found = /^\d+$/u.test(name) ? readProcess(Number(name)) : undefined;
    if (found) processes.set(Number(name), found);
  }
  const isBelow = (pid: number): boolean => {
    if (roots.includes(pid)) return true;
    const above = processes.get(pid)?.parent ?? 0;
    return above > 0 && isBelow(above);
  };
  let sum = 0;
  for (const [pid, { time }] of processes) if (isBelow(pid)) sum += time;
  return sum / ticks;
}
