import { drawBar } from '../../output/bar.ts';
import { createRate } from '../../output/rate.ts';
import { formatDuration } from '../../output/units.ts';
import type { KnownJob } from './find.ts';
import { describeProgress, readCounts } from './wait.ts';

/** Characters of the bar. */
const barWidth = 24;

/** A rate with as many digits as one can read. */
function formatCount(rate: number): string {
  return rate < 10 ? rate.toFixed(1) : String(Math.round(rate));
}

/**
 * Makes what describes a job in a line: a bar of its tasks, how many are done in a second, and how long the rest takes at that rate. While its
 * input is open nobody knows how many are to come. The API counts the tasks of all phases together.
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
