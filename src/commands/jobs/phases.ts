import { job, type Phase } from '../../api/objects.ts';
import { storage } from '../../api/storage.ts';
import type { Context } from '../../cli/command.ts';
import { readRecord } from '../../cli/from.ts';
import { filePath, inOrder, number, type Placed, text, type Values } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { printRemotePath, readRemotePath } from '../../transfer/path.ts';

/** Options that define a job. Those of a phase follow it; those before the first phase apply to every phase. */
export const jobOptions = {
  name: text('Name of the job', { placeholder: 'NAME' }),
  map: inOrder(text('Add a map phase: run this shell command once for each input', { placeholder: 'CMD' })),
  reduce: inOrder(text('Add a reduce phase: run this shell command once for all inputs', { placeholder: 'CMD' })),
  count: inOrder(number('Number of reducers of the reduce phase; default 1', { range: [1, 128] })),
  asset: inOrder(text('Object placed in the zones of the phase', { placeholder: 'PATH', values: 'path' })),
  init: inOrder(text('Shell command run in each zone of the phase before its tasks', { placeholder: 'CMD' })),
  memory: inOrder(number('Memory of each task of the phase', { placeholder: 'MB', range: [1, 1_048_576] })),
  disk: inOrder(number('Disk space of each task of the phase', { placeholder: 'GB', range: [1, 1_048_576] })),
  from: filePath('Job as YAML or JSON, as cloud jobs get -o yaml prints it; - for stdin'),
};

/** The values of `jobOptions`. */
export type JobValues = Values<typeof jobOptions>;

/** A job to create. */
export interface NewJob {
  name?: string | undefined;
  phases: Phase[];
}

type Detail = 'count' | 'asset' | 'init' | 'memory' | 'disk';
const details = ['count', 'asset', 'init', 'memory', 'disk'] as const;

interface Word {
  at: number;
  option: 'map' | 'reduce' | Detail;
  value: string | number;
}

function listWords(values: JobValues): Word[] {
  const words = (['map', 'reduce', ...details] as const).flatMap((option) =>
    (values[option] as Placed<string | number>[]).map(({ at, value }): Word => ({ at, option, value })),
  );
  return words.toSorted((a, b) => a.at - b.at);
}

/** Returns a phase with one more option applied. */
function addDetail(phase: Phase, option: Detail, value: string | number, account: string): Phase {
  if (option !== 'asset') return { ...phase, [option]: value };
  const asset = printRemotePath(readRemotePath(String(value), account));
  return { ...phase, assets: [...(phase.assets ?? []), asset] };
}

function isPhase({ option }: Word): boolean {
  return option === 'map' || option === 'reduce';
}

/** Returns the phases that the options define, in their order. @throws {UsageError} for --count of a map phase */
export function readPhases(values: JobValues, account: string): Phase[] {
  const words = listWords(values);
  const first = words.findIndex(isPhase);
  const common = first < 0 ? words : words.slice(0, first);
  if (common.length > 0 && first < 0) {
    throw new UsageError(`--${common[0]?.option ?? ''} belongs to a phase, but there is none`, { hint: "add --map 'COMMAND'" });
  }
  if (common.some(({ option }) => option === 'count') && !words.some(({ option }) => option === 'reduce')) {
    throw new UsageError('--count belongs to a reduce phase, but there is none', { hint: "add --reduce 'COMMAND'" });
  }
  const phases: Phase[] = [];
  for (const word of words.slice(Math.max(first, 0))) {
    const { option, value } = word;
    if (option === 'map' || option === 'reduce') {
      if (String(value).trim() === '') throw new UsageError(`--${option} needs a command`);
      const mine = common.filter((each) => each.option !== 'count' || option === 'reduce');
      const begun: Phase = { type: option, exec: String(value) };
      phases.push(mine.reduce((phase, each) => addDetail(phase, each.option as Detail, each.value, account), begun));
      continue;
    }
    const last = phases.at(-1);
    if (last === undefined) continue;
    if (option === 'count' && last.type !== 'reduce') {
      throw new UsageError('--count belongs to a reduce phase, but follows --map', { hint: 'put it after --reduce' });
    }
    phases[phases.length - 1] = addDetail(last, option, value, account);
  }
  return phases;
}

/** Fields that the service adds to a job. */
const added = Object.keys(job.fields ?? {}).filter((name) => !(name in storage.createJob.fields));

/** Returns the job that options or a file define. @throws {UsageError} when neither or both define phases */
export async function readNewJob({ world, account }: Pick<Context, 'world' | 'account'>, values: JobValues): Promise<NewJob> {
  const phases = readPhases(values, account);
  if (values.from === undefined) {
    if (phases.length === 0) {
      throw new UsageError('the job has no phase: neither --map nor --reduce is given', {
        hint: "give a command: --map 'wc -l', or a file: --from job.yaml",
      });
    }
    return { ...(values.name !== undefined && { name: values.name }), phases };
  }
  if (phases.length > 0) throw new UsageError('--from and --map or --reduce cannot be combined: the file has the phases');
  const record = (await readRecord(world, values.from, storage.createJob.fields, { ignore: added })) as Partial<NewJob>;
  if (record.phases === undefined || record.phases.length === 0) {
    throw new UsageError(`${values.from}: phases: is missing`, { hint: 'write one: phases: [{ exec: "wc -l" }]' });
  }
  const name = values.name ?? record.name;
  return { ...(name !== undefined && { name }), phases: record.phases };
}
