import type { ControlInput } from '../../api/control.ts';
import { UsageError } from '../../base/errors.ts';
import { command } from '../../cli/command.ts';
import { flag, maybe } from '../../cli/parameters.ts';
import { record } from '../../output/kinds.ts';
import { parseDuration } from '../../output/units.ts';
import { control, controlledDataOf, controlOption } from './control.ts';

const actions = ['set', 'advance', 'skew', 'reset'] as const;

/** Reads the change of the clock from the command line. @throws {UsageError} */
function readChange(action: string | undefined, value: string | undefined, behind: boolean): ControlInput<'clock'> {
  const wantsValue = action !== undefined && action !== 'reset';
  if (wantsValue && value === undefined)
    throw new UsageError(`clock ${action}: needs a ${action === 'set' ? 'time' : 'duration'}`, {
      hint: `cloud local clock ${action} ${action === 'set' ? '2027-01-01T12:30:00Z' : '10m'}`,
    });
  if (behind && action !== 'skew') throw new UsageError('--behind is an option of clock skew');
  if (!wantsValue && value !== undefined) throw new UsageError(`clock ${action ?? ''}: takes no value`);
  if (action === 'set') return { set: value ?? '' };
  if (action === 'reset') return { reset: true };
  if (action === undefined) return {};
  const milliseconds = parseDuration(value ?? '');
  return action === 'advance' ? { advance: milliseconds } : { skew: behind ? -milliseconds : milliseconds };
}

export const clock = command({
  summary: 'Show or set the clock of a service that runs',
  description:
    'Timestamps, signed URLs, the making of images, rules that look at the time and reads that lag follow it: set gives it another time, from which it goes on; advance lets time pass without waiting; reset makes it the clock of this machine again. The dates of requests are compared with the clock of this machine, so that clients go on unchanged; skew moves that check alone, by more than 300 seconds where they are to be refused. Durations, such as time limits of jobs, are real. A service that is started anew has the clock of the machine. OFFSET and SKEW are milliseconds.',
  arguments: {
    action: maybe('What to do; without it the clock is shown', { choices: actions }),
    value: maybe('Time in ISO 8601, UTC unless it says otherwise, for set; duration, such as 90s or 1h30m, for advance and skew'),
  },
  usage: '[set TIME|advance DURATION|skew DURATION|reset]',
  options: { ...controlOption, behind: flag('With skew: let the service be behind, not ahead') },
  run: async (invocation) => {
    const { args, options } = invocation;
    const change = readChange(args.action, args.value, options.behind);
    const state = await control(controlledDataOf(invocation, options.data), 'clock', change);
    return record(state, { id: 'time', columns: [{ key: 'time', as: 'text' }, 'offset', 'skew'] });
  },
  examples: [
    { line: 'cloud local clock advance 10m', help: 'Ten minutes later' },
    { line: 'cloud local clock set 2027-02-28T23:59:50Z', help: 'Shortly before the end of a month' },
    { line: 'cloud local clock skew 10m', help: 'What does a program do on a machine that is ten minutes late?' },
    { line: 'cloud local clock reset', help: 'After a test' },
  ],
});
