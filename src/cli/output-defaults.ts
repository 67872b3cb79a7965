import { UsageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { Sourced, Sources } from '../config/settings.ts';
import { formats, type Output } from '../output/kinds.ts';

/** @throws {UsageError} for an unknown output format */
export function checkFormat({ value, source }: Sourced): string {
  if (formats.some((format) => format === value)) return value;
  throw new UsageError(`${source}: "${value}" is not one of ${formats.join(', ')}`, {
    hint: `such as ${source.startsWith('--') ? `${source} ` : ''}${nearest(value, formats) ?? 'json'}`,
  });
}

/**
 * Parses `images list=name,os;jobs list=id` to columns by command; a command with an empty list has its default columns.
 * @throws {UsageError} for text of another form
 */
export function readColumns({ value, source }: Sourced): Map<string, string> {
  const entries = value.split(';').filter((entry) => entry.trim() !== '');
  return new Map(
    entries.map((entry) => {
      const [, command = '', columns = ''] = /^([^=]+)=([^=]*)$/.exec(entry.trim()) ?? [];
      if (command === '')
        throw new UsageError(`${source}: "${entry.trim()}" is not COMMAND=COLUMNS`, {
          hint: "such as 'images list=name,os;jobs list=id,name'",
        });
      return [command.trim().replaceAll(/\s+/g, ' '), columns.trim()];
    }),
  );
}

/** Formats columns by command; the inverse of `readColumns`. */
export function writeColumns(columns: ReadonlyMap<string, string>): string {
  return [...columns].map(([command, list]) => `${command}=${list}`).join(';');
}

/** Formats that consist of columns. */
const columned = ['table', 'csv', 'tsv'];

/**
 * Adds the output defaults of the profile or environment to the global options, for lists and records.
 * @param warn called for invalid defaults: the work is already done, so its result is shown in the usual format
 */
export function addOutputDefaults(
  globals: Readonly<Record<string, unknown>>,
  { path, output, sources, warn }: { path: readonly string[]; output: Output; sources: Sources; warn: (message: string) => void },
): Readonly<Record<string, unknown>> {
  if (output.kind !== 'records' && output.kind !== 'record') return globals;
  const result: Record<string, unknown> = { ...globals };
  try {
    const isChosen = result['json'] === true || result['output'] !== undefined || result['jq'] !== undefined;
    if (!isChosen && sources.defaultOutput) result['output'] = checkFormat(sources.defaultOutput);
    const format = result['json'] === true ? 'json' : ((result['output'] ?? 'table') as string);
    const hasColumns = columned.includes(format) && result['columns'] === undefined && result['long'] !== true;
    if (hasColumns && sources.defaultColumns) result['columns'] = readColumns(sources.defaultColumns).get(path.join(' ')) || undefined;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    warn(error.message);
  }
  return result;
}
