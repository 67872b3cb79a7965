import { createReadStream, existsSync, readdirSync, statSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { command } from '../../cli/command.ts';
import { flag } from '../../cli/parameters.ts';
import { confirm } from '../../cli/prompt.ts';
import { damageHint, findFileDamage, findMissingFolder, listForeignNames } from '../../base/data-directory.ts';
import { unlessNoEntry, NotFoundError, UsageError } from '../../base/errors.ts';
import { removeFolder } from '../../base/remove-folder.ts';
import { wantsRows } from '../../cli/rows.ts';
import { bytes, record, type Output } from '../../output/kinds.ts';
import { findLogs, logFileOf } from './log-file.ts';
import { describeDifference, findService } from './running.ts';
import { dataDirOf, dataOption } from './service.ts';
import { control } from './control.ts';
import { checkData, isServed } from './state.ts';

/** Entries of a folder; none if it does not exist: a running service creates and removes folders meanwhile. */
function listEntries(folder: string): Dirent[] {
  return unlessNoEntry(() => readdirSync(folder, { withFileTypes: true })) ?? [];
}

/** @throws {UsageError} if a data directory has files that no service made: they would be deleted with it */
function assertNothingForeign(dataDir: string): void {
  const names = listForeignNames(dataDir);
  if (names.length === 0) return;
  const more = names.length > 3 ? ` and ${names.length - 3} more` : '';
  throw new UsageError(`${dataDir} has files that no service made (${names.slice(0, 3).join(', ')}${more}); nothing was changed`, {
    hint: 'move them to another directory first',
  });
}

/** Number and total bytes of the files below a folder. */
function measureFolder(folder: string): { files: number; size: number } {
  const sum = { files: 0, size: 0 };
  for (const entry of listEntries(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      const inner = measureFolder(path);
      sum.files += inner.files;
      sum.size += inner.size;
    } else if (entry.isFile()) {
      sum.files += 1;
      sum.size += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    }
  }
  return sum;
}

export const status = command({
  summary: 'Show whether the services run, their addresses, start time and size of data',
  description:
    'Exits with 0 whether the services run or not: see the field running. Damaged data of stopped services is reported on stderr, as far as sizes and headers of files show it. The field answers is false when a running service is too busy to respond in time, or hangs.',
  options: dataOption,
  run: async (invocation) => {
    const { options, world, warn } = invocation;
    const dataDir = dataDirOf(invocation, options.data);
    const found = await findService(world, dataDir);
    const held = measureFolder(dataDir);
    if (found?.answers === false) warn(`process ${found.running.pid} runs but does not respond in time: it is busy or hangs`);
    if (found?.running.jobsOff !== undefined) warn(found.running.jobsOff);
    const contents = measureFolder(join(dataDir, 'bytes'));
    const running = found?.running;
    const difference = running && describeDifference(running);
    if (difference !== undefined) warn(difference);
    const damage = (found === undefined ? findFileDamage(dataDir) : undefined) ?? findMissingFolder(dataDir);
    if (damage !== undefined) warn(`${damage}; ${damageHint}`);
    const told = running && {
      answers: found?.answers,
      computeUrl: running.computeUrl,
      storUrl: running.storUrl,
      account: running.account,
      isolation: running.isolation,
      pid: running.pid,
      version: running.version,
      startedAt: running.startedAt,
    };
    return record(
      { running: running !== undefined, ...told, dataDir, contents: contents.files, size: held.size },
      {
        id: 'running',
        columns: [
          'running',
          ...Object.keys(told ?? {}).map((key) => ({ key, as: key === 'startedAt' ? ('time' as const) : ('text' as const) })),
          'dataDir',
          'contents',
          { key: 'size', as: 'size' },
        ],
      },
    );
  },
  examples: [
    { line: 'cloud local status', help: 'Check whether the services run' },
    { line: 'cloud local status -j --columns running', help: 'For scripts' },
  ],
});

async function* readAll(files: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const file of files) yield* createReadStream(file);
}

export const logs = command({
  summary: 'Print the log of the services',
  description: 'The log of services started by local start: at least the latest 64 MiB.',
  options: dataOption,
  run: async (invocation) => {
    const dataDir = dataDirOf(invocation, invocation.options.data);
    const files = findLogs(dataDir);
    if (files.length === 0) throw new NotFoundError(`${logFileOf(dataDir)} does not exist`, { hint: 'cloud local start' });
    return bytes(readAll(files));
  },
  examples: [
    { line: 'cloud local logs | tail', help: 'Latest lines' },
    { line: 'cloud local logs | grep " 500 "', help: 'Failures' },
  ],
});

export const reset = command({
  summary: 'Delete all data of the services',
  description:
    'Running services return to the state after their first start: accounts with their keys, and samples. Snapshots, addresses, clock and faults stay, so that programs can continue. For stopped services the data directory is removed; it is refused if it has files that no service made.',
  fields: ['dataDir', 'outcome'],
  changes: true,
  options: { ...dataOption, yes: flag('Do not ask', { short: 'y' }) },
  run: async (invocation) => {
    const { options, world, note } = invocation;
    const dataDir = dataDirOf(invocation, options.data);
    /** What was done, if an output format is requested. */
    const show = (outcome: 'absent' | 'reset' | 'deleted'): Output | undefined =>
      wantsRows(invocation) ? record({ dataDir, outcome }, { id: 'dataDir' }) : undefined;
    const isRunning = await isServed(world, dataDir);
    if (!existsSync(dataDir)) {
      note('There is nothing to delete');
      return show('absent');
    }
    checkData(dataDir);
    if (!isRunning) assertNothingForeign(dataDir);
    if (!options.yes) await confirm(world, `Delete all data in ${dataDir}?`);
    if (isRunning) await control(dataDir, 'reset', {});
    else await removeFolder(dataDir);
    note(isRunning ? 'The services have the state of their first start' : `Deleted ${dataDir}`);
    return show(isRunning ? 'reset' : 'deleted');
  },
  examples: [
    { line: 'cloud local reset -y', help: 'Start over, for example between tests' },
    { line: 'cloud local stop && cloud local reset -y', help: 'Remove everything, keys included' },
    { line: 'cloud local reset --data ./data', help: 'Services with their own data; asks first' },
  ],
});
