import { drawBar } from '../../output/bar.ts';
import { createRate } from '../../output/rate.ts';
import { formatDuration } from '../../output/units.ts';
import type { KnownJob } from './find.ts';
import { describeProgress, readCounts } from './wait.ts';

/** Width of the bar, characters. */
const barWidth = 24;

/** Formats a rate with one decimal below 10, without decimals from 10 on. */
function formatCount(rate: number): string {
  return rate < 10 ? rate.toFixed(1) : String(Math.round(rate));
}

/**
 * Creates a function that describes a job in one line: a bar of its tasks, the tasks done per second, and the time left at that rate. The
 * time is omitted while the input is open, because more tasks may follow. The API counts the tasks of all phases together.
 * @param now milliseconds since the epoch
 */
export function createJobBar(now: () => number): (job: KnownJob) => string {
  const rate = createRate();
  return (job) => {
    const { tasks = 0, tasksDone = 0 } = readCounts(job);
    const speed = rate.add(now(), tasksDone);
    if (tasks === 0) return describeProgress(job);
    const left = Math.ceil((tasks - tasksDone) / speed);
    const rest = job.inputDone === false || !Number.isFinite(left) || left === 0 ? '' : `, ${formatDuration(left * 1000)} left`;
    const share = tasksDone / tasks;
    const percent = `${Math.floor(share * 100)}%`.padStart(4);
    return `${drawBar(share, barWidth)} ${percent}  ${describeProgress(job)}${speed > 0 ? `, ${formatCount(speed)}/s${rest}` : ''}`;
  };
}
