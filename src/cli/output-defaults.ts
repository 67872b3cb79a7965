import { UsageError } from '../base/errors.ts';
import { splitList } from '../base/split-list.ts';
import { nearest } from '../base/nearest.ts';
import type { Sourced, Sources } from '../config/settings.ts';
import { formats, type Output, type Records, type Single } from '../output/kinds.ts';

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

/** True if the command line has a format, or JSON by `-j` or `--jq`. */
function hasFormat(globals: Readonly<Record<string, unknown>>): boolean {
  return globals['json'] === true || globals['output'] !== undefined || globals['jq'] !== undefined;
}

/** Checks the defaults in the environment before a command does anything. @throws {UsageError} unless they have the right form */
export function assertDefaults(globals: Readonly<Record<string, unknown>>, env: Readonly<Record<string, string | undefined>>): void {
  const read = (name: string): Sourced => ({ value: env[name] ?? '', source: `environment ${name}` });
  const [format, columns] = [read('CLOUD_OUTPUT'), read('CLOUD_COLUMNS')];
  if (format.value !== '' && !hasFormat(globals)) checkFormat(format);
  if (globals['columns'] === undefined) readColumns(columns);
}

/** Formats that consist of columns. */
const columned = ['table', 'csv', 'tsv'];

interface Shown {
  readonly globals: Readonly<Record<string, unknown>>;
  /** Its rows may have been read ahead. */
  readonly output: Output;
}

type Warn = (message: string) => void;

/** The defaults that apply to a command. */
interface Chosen {
  readonly format?: string;
  readonly columns?: string | undefined;
}

function chooseDefaults(globals: Shown['globals'], command: string, { defaultOutput, defaultColumns }: Sources, warn: Warn): Chosen {
  let format: string | undefined;
  try {
    if (!hasFormat(globals) && defaultOutput) format = checkFormat(defaultOutput);
    const effective = globals['json'] === true ? 'json' : (format ?? ((globals['output'] ?? 'table') as string));
    const hasColumns = columned.includes(effective) && globals['columns'] === undefined && globals['long'] !== true;
    return { ...(format && { format }), ...(hasColumns && defaultColumns && { columns: readColumns(defaultColumns).get(command) }) };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    warn(error.message);
    return format === undefined ? {} : { format };
  }
}

/** Reads rows ahead until all fields are found. Without columns after a warning if one of them is not a field. */
async function checkColumns(columns: string, output: Records | Single, option: string, warn: Warn): Promise<Chosen & { output: Output }> {
  const names = splitList(columns);
  if (names.length === 0 || names[0] === 'all') return { columns, output };
  const { findFields, listDeclared, createUnknownFieldError } = await import('../output/rows.ts');
  const rows = output.kind === 'record' ? [output.value] : output.rows;
  let problem: UsageError | undefined;
  const found = await findFields(
    names,
    listDeclared(output),
    rows,
    (...unknown) => (problem = createUnknownFieldError(option, ...unknown)),
  );
  const shown = output.kind === 'record' ? output : { ...output, rows: found.rows };
  if (problem === undefined) return { columns, output: shown };
  warn(`${problem.message} (showing the usual columns)`);
  return { output: shown };
}

/**
 * Adds the output defaults of the profile or environment to the global options, for lists and records.
 * @param warn called for invalid defaults: the work is already done, so its result is shown in the usual format
 */
export async function addOutputDefaults(
  globals: Shown['globals'],
  { path, output, sources, warn }: { path: readonly string[]; output: Output; sources: Sources; warn: Warn },
): Promise<Shown> {
  if (output.kind !== 'records' && output.kind !== 'record') return { globals, output };
  const command = path.join(' ');
  const { format, columns } = chooseDefaults(globals, command, sources, warn);
  const chosen = { ...globals, ...(format && { output: format }) };
  if (!columns || !sources.defaultColumns) return { globals: chosen, output };
  const checked = await checkColumns(columns, output, `${sources.defaultColumns.source}: ${command}`, warn);
  return { globals: { ...chosen, ...(checked.columns && { columns: checked.columns }) }, output: checked.output };
}
