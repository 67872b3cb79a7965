import { exitCodes, PartialError } from '../../base/errors.ts';
import { andThen } from '../../base/iterate.ts';
import type { Context } from '../../cli/command.ts';
import { colourEnabled, createPaint, type Paint } from '../../output/colour.ts';
import { escapeControl } from '../../output/escape.ts';
import { bytes, records, text, type Output } from '../../output/kinds.ts';
import type { Change, Difference } from '../../rbac/change.ts';

/** The fields of a change that are shown; also for changes of other documents. */
type Shown = Pick<Change, 'action' | 'name' | 'differences'> & { readonly kind: string };

/** True if the output is text for people: neither a data format nor columns were requested. */
export function wantsText({ global }: Pick<Context, 'global'>): boolean {
  return !global.json && (global.output ?? 'table') === 'table' && global.columns === undefined;
}

/** Creates the colours for text that a command writes to stdout itself. */
export async function paintFor({ world, global }: Pick<Context, 'world' | 'global'>): Promise<Paint> {
  return await createPaint(colourEnabled(global.color ?? 'auto', world.env, world.stdout.isTerminal));
}

function printValue(value: unknown): string {
  return escapeControl(typeof value === 'string' ? value : JSON.stringify(value));
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
}

/** For a list, one line for each added or removed item; for other fields, the old and the new value. */
function printDifference({ field, from, to }: Difference, { red, green }: Paint): string[] {
  if (Array.isArray(to)) {
    const before: unknown[] = Array.isArray(from) ? from : [];
    const gone = before.filter((each) => !to.includes(each)).map((each) => red(`    - ${field}: ${printValue(each)}`));
    const added = to.filter((each) => !before.includes(each)).map((each) => green(`    + ${field}: ${printValue(each)}`));
    return gone.length + added.length > 0 ? [...gone, ...added] : [`    ~ ${field}: in another order`];
  }
  if (isEmpty(from)) return isEmpty(to) ? [] : [green(`    + ${field}: ${printValue(to)}`)];
  return [red(`    - ${field}: ${printValue(from)}`), ...(isEmpty(to) ? [] : [green(`    + ${field}: ${printValue(to)}`)])];
}

/** Formats a change for people: `+ user alice` and a line for each field, in colour. */
export function printChange({ action, kind, name, differences }: Shown, paint: Paint): string {
  const head = `${kind} ${escapeControl(name)}`;
  const line = { create: paint.green(`+ ${head}`), update: paint.yellow(`~ ${head}`), delete: paint.red(`- ${head}`) }[action];
  return [line, ...differences.flatMap((difference) => printDifference(difference, paint))].map((each) => `${each}\n`).join('');
}

/** A change as a record, without passwords and request data. */
export function describeChange({ action, kind, name, differences }: Shown): object {
  return { action, kind, name, differences };
}

/** How changes are shown as records. */
export const changeColumns = ['action', 'kind', 'name', 'differences'];

/** Shows changes as text for people, or as records in a data format. */
export async function showChanges(context: Context, changes: readonly Shown[]): Promise<Output> {
  if (!wantsText(context)) return records(changes.map(describeChange), { columns: changeColumns, id: 'name' });
  const paint = await paintFor(context);
  return text(changes.map((change) => printChange(change, paint)).join(''));
}

/** Shows the changes of `diff`, and their number as a note, or with `isError` as an error at the end. @param what the compared object */
export async function showDiff(context: Context, changes: readonly Shown[], isError: boolean, what: string): Promise<Output> {
  const isSame = changes.length === 0;
  if (!isError || isSame) context.note(isSame ? 'No differences' : countChanges(changes));
  const shown = await showChanges(context, changes);
  if (!isError || isSame) return shown;
  return endWith(shown, new PartialError(`${what} differs: ${countChanges(changes)}`, { allFailed: exitCodes.failed }));
}

/** `2 to create, 1 to delete`. */
function countChanges(changes: readonly Pick<Change, 'action'>[]): string {
  const actions = ['create', 'update', 'delete'] as const;
  const counts = actions.map((action) => [changes.filter((change) => change.action === action).length, action] as const);
  return counts
    .filter(([number]) => number > 0)
    .map(([number, action]) => `${number} to ${action}`)
    .join(', ');
}

/** Returns an output that throws an error after all of it was shown. */
export function endWith(output: Output, error: PartialError): Output {
  const fail = (): never => {
    throw error;
  };
  if (output.kind === 'records') return { ...output, rows: andThen(output.rows, fail) };
  return output.kind === 'text' ? bytes(andThen([Buffer.from(output.text)], fail)) : output;
}
