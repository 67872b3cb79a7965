import type { ControlInput } from '../../api/control.ts';
import { UsageError } from '../../base/errors.ts';
import { command } from '../../cli/command.ts';
import { flag, maybe } from '../../cli/parameters.ts';
import { record } from '../../output/kinds.ts';
import { parseDuration } from '../../output/units.ts';
import { control } from './control.ts';
import { dataDirOf, dataOption } from './service.ts';

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
  summary: 'Show or set the clock of a running service',
  description:
    'The clock applies to timestamps, signed URLs, image creation, rules with a time and delayed reads. set starts it at another time; advance moves it forward without waiting; reset returns it to the clock of this machine. Clients need no change, because the Date of requests is compared with the clock of this machine. skew shifts this check alone; above 300 seconds, requests are rejected. Durations, such as time limits of jobs, are real. A restart resets the clock. OFFSET and SKEW are milliseconds.',
  arguments: {
    action: maybe('Action; shows the clock when absent', { choices: actions }),
    value: maybe('For set: time in ISO 8601, UTC by default; for advance and skew: duration, such as 90s or 1h30m'),
  },
  fields: ['time', 'offset', 'skew'],
  changes: true,
  usage: '[set TIME|advance DURATION|skew DURATION|reset]',
  options: { ...dataOption, behind: flag('With skew: put the service behind, not ahead') },
  run: async (invocation) => {
    const { args, options } = invocation;
    const change = readChange(args.action, args.value, options.behind);
    const state = await control(dataDirOf(invocation, options.data), 'clock', change);
    return record(state, { id: 'time', columns: [{ key: 'time', as: 'text' }, 'offset', 'skew'] });
  },
  examples: [
    { line: 'cloud local clock advance 10m', help: 'Ten minutes later' },
    { line: 'cloud local clock set 2027-02-28T23:59:50Z', help: 'Shortly before the end of a month' },
    { line: 'cloud local clock skew 10m', help: 'Test a program on a machine that is ten minutes late' },
    { line: 'cloud local clock reset', help: 'After a test' },
  ],
});
