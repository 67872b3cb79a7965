import { andThen } from '../base/iterate.ts';
import type { Field } from '../api/fields.ts';
import { withHint } from '../base/error-copies.ts';
import { ApiError } from '../base/errors.ts';
import { record, records, type ColumnsOf, type ColumnSpec, type Output, type Row, type Rows } from '../output/kinds.ts';
import { createAttempts } from './attempts.ts';
import { command, type Command, type Context, type Described, type Example, type Invocation } from './command.ts';
import { flag, many, type Argument, type Arguments, type Options, type ValueSource } from './parameters.ts';
import { datacenterOption, findDatacenters, readEverywhere, withDatacenter } from './datacenters.ts';
import { confirm } from './prompt.ts';
import { waitForReads, waitOptions } from './wait.ts';
import { wantsRows } from './rows.ts';

/** Properties that all shapes of commands share; `aliases` replace the default ones of the shape. */
interface Shape extends Described {
  examples?: readonly Example[];
}

/** The display of a resource. `R` is the type of its shape; without a shape, columns may have any name. */
interface Shown<R> {
  /** Columns of the table; all other fields are available to `--columns` and the data formats. */
  columns: ColumnsOf<NoInfer<R>>;
  /** The field that `-o name` prints. */
  id: keyof NoInfer<R> & string;
  /** The fields of a row, so that `--columns` accepts a field that none of the rows has. */
  shape?: Field<R>;
  /** The command has `--dc`, because other datacenters of the cloud can be read too. */
  perDatacenter?: true;
}

/** Names of all fields that a resource may have, as a property of an output. */
export function listFieldNames(shape: Field | undefined): { fields?: readonly string[] } {
  const fields = shape?.item?.fields ?? shape?.fields;
  return fields === undefined ? {} : { fields: Object.keys(fields) };
}

/** The fields that columns show. */
export function listKeys(columns: readonly ColumnSpec[]): string[] {
  return columns.map((column) => (typeof column === 'string' ? column : column.key));
}

/** All fields of a resource and its columns, as a property of a command. */
function declareFields(
  shape: Field | undefined,
  { columns = [], id, perDatacenter }: { columns?: readonly ColumnSpec[]; id: string; perDatacenter?: true },
): { fields?: readonly string[] } {
  const { fields } = listFieldNames(shape);
  if (fields === undefined) return {};
  return { fields: [...new Set([...(perDatacenter ? ['dc'] : []), ...listKeys(columns), id, ...fields])] };
}

interface ListSpec<O extends Options, R> extends Shape, Shown<R> {
  options?: O;
  /** Default sort field of tables. */
  order?: string;
  fetch: (invocation: Invocation<Record<never, never>, O>) => Promise<Rows> | Rows;
}

export function listCommand<const O extends Options = Record<never, never>, R = Record<string, unknown>>({
  columns,
  id,
  shape,
  order,
  perDatacenter,
  fetch,
  ...rest
}: ListSpec<O, R>): Command<Record<never, never>, O> {
  return command<Record<never, never>, O>({
    ...rest,
    ...declareFields(shape, { columns, id, ...(perDatacenter && { perDatacenter }) }),
    ...(perDatacenter && { options: { ...rest.options, ...datacenterOption } as unknown as O }),
    run: async (invocation) => {
      const shown = { columns, id, ...(order !== undefined && { order }), ...listFieldNames(shape) };
      const dc = findDatacenters(invocation);
      return dc === undefined
        ? records(await fetch(invocation), shown)
        : records(readEverywhere(invocation, dc, fetch), withDatacenter(shown));
    },
  });
}

interface GetSpec<N extends string, R> extends Shape, Omit<Shown<R>, 'columns'> {
  /** Name of the argument; `help` describes it. */
  argument: N;
  help: string;
  values?: ValueSource;
  /** Lines of the card; all fields when absent. */
  columns?: ColumnsOf<NoInfer<R>>;
  /** Columns of the table, for several resources. */
  listed: ColumnsOf<NoInfer<R>>;
  fetch: (context: Context, name: string) => Promise<Row>;
}

/** A command that shows one resource as a card, several as a table. */
export function getCommand<const N extends string, R = Record<string, unknown>>({
  argument,
  help,
  values,
  id,
  columns,
  listed,
  shape,
  perDatacenter,
  fetch,
  ...rest
}: GetSpec<N, R>): Command<Arguments> {
  return command<Arguments>({
    aliases: ['show'],
    ...rest,
    ...declareFields(shape, { columns: [...listed, ...(columns ?? [])], id, ...(perDatacenter && { perDatacenter }) }),
    arguments: { [argument]: many(help, { ...(values && { values }) }) },
    ...(perDatacenter && { options: datacenterOption }),
    run: async (invocation) => {
      const words = invocation.args[argument] as readonly string[];
      const [word = ''] = words;
      const dc = findDatacenters(invocation);
      if (dc !== undefined) {
        const read = async (context: Context): Promise<Row[]> => await Promise.all(words.map((each) => fetch(context, each)));
        return records(readEverywhere<Context>(invocation, dc, read), withDatacenter({ columns: listed, id, ...listFieldNames(shape) }));
      }
      if (words.length === 1) return record(await fetch(invocation, word), { id, ...(columns && { columns }), ...listFieldNames(shape) });
      const rows = createAttempts(invocation, words.length).rows(words, (name) => fetch(invocation, name));
      return records(rows, { columns: listed, id, ...listFieldNames(shape) });
    },
  });
}

interface ChangeSpec<A extends Arguments, O extends Options, R extends Row, S> extends Shape, Pick<Shown<S>, 'id'> {
  arguments?: A;
  options?: O;
  columns?: ColumnsOf<NoInfer<S>>;
  /** The fields of the result, so that unknown ones are refused before the change. */
  shape?: Field<S>;
  change: (invocation: Invocation<A, O>) => Promise<R>;
  /** Message on stderr after the change: `Created key laptop`. */
  done: (result: NoInfer<R>) => string;
}

/** A command that creates or updates a resource, shows the result and prints a message. */
export function changeCommand<
  const A extends Arguments = Record<never, never>,
  const O extends Options = Record<never, never>,
  R extends Row = Row,
  S = Record<string, unknown>,
>({ id, columns, shape, change, done, ...rest }: ChangeSpec<A, O, R, S>): Command<A, O> {
  return command({
    ...rest,
    ...declareFields(shape, { id, ...(columns && { columns }) }),
    changes: true,
    run: async (invocation) => {
      const result = await change(invocation);
      invocation.note(done(result));
      return record(result, { id, ...(columns && { columns }), ...listFieldNames(shape) });
    },
  });
}

interface DeleteSpec<N extends string, L> extends Pick<Shape, 'summary' | 'examples'> {
  argument: N;
  help: string;
  values?: ValueSource;
  /** Noun for questions and messages: `key`. */
  noun: string;
  /** The owner of the resources, an argument before theirs; the functions below get what `find` returns for it. */
  owner?: { name: string; argument: Argument<string>; find: (context: Context, name: string) => Promise<string> };
  /** Reads the list in which the arguments are looked up, once for all of them. */
  read: (context: Context, owner: string) => Promise<L> | L;
  /** Finds the target of an argument and its label; throws when none or several match. */
  resolve: (list: L, name: string, context: Context, owner: string) => Promise<Target> | Target;
  /** Returns the id if the argument is a whole id, which is used unchecked when the list may not be read. */
  wholeId?: (name: string) => string | undefined;
  /** The word for that id in messages, if it is not `id`. */
  idWord?: string;
  remove: (context: Context, id: string, owner: string) => Promise<unknown>;
  /** True while reads, which may lag, still return one of the resources. If present, the command has `--wait`. */
  isShown?: (context: Context, ids: readonly string[]) => Promise<boolean>;
}

interface Target {
  id: string;
  label: string;
}

/** Reads the list in which arguments are looked up; if it may not be read, whole ids are used unchecked. */
async function createLookUp<L>(
  { noun, idWord, read, resolve, wholeId }: DeleteSpec<string, L>,
  context: Context,
  owner: string,
): Promise<(name: string) => Promise<Target> | Target> {
  let list: L;
  try {
    list = await read(context, owner);
  } catch (error) {
    if (wholeId === undefined || !isForbidden(error)) throw error;
    return (name) => {
      const id = wholeId(name);
      if (id === undefined) throw explainUnlisted(error, noun, name, idWord);
      return { id, label: name };
    };
  }
  return (name) => resolve(list, name, context, owner);
}

const deletedFields = ['id', 'label'];

const deleteOptions = {
  yes: flag('Do not ask for confirmation', { short: 'y' }),
  dryRun: flag('Only show what would be deleted', { short: 'n' }),
  ...waitOptions,
};

/** A command that deletes resources: resolves all of them, asks once, and tries to delete each. */
export function deleteCommand<const N extends string, L>(spec: DeleteSpec<N, L>): Command<Arguments, typeof deleteOptions> {
  const { summary, examples = [], argument, help, values, noun, owner, remove, isShown } = spec;
  const named: Record<string, Argument> = {
    ...(owner && { [owner.name]: owner.argument }),
    [argument]: many(help, { ...(values && { values }) }),
  };
  const { yes, dryRun } = deleteOptions;
  return command({
    summary,
    aliases: ['rm'],
    examples,
    arguments: named,
    fields: deletedFields,
    changes: true,
    // Without `isShown`, the values of `--wait` and `--wait-timeout` are never read.
    options: isShown ? deleteOptions : ({ yes, dryRun } as typeof deleteOptions),
    run: async (invocation) => {
      const names = [...new Set(invocation.args[argument] as string[])];
      const attempts = createAttempts(invocation, names.length);
      const ownerName = owner ? String(invocation.args[owner.name]) : '';
      const found = owner ? await owner.find(invocation, ownerName) : '';
      const lookUp = await createLookUp(spec, invocation, found);
      const targets = await attempts.each(names, async (name) => await lookUp(name));
      const labels = targets.map(({ label }) => label).join(', ');
      /** The deleted resources, or those that would be deleted, if an output format is requested. */
      const finish = (deleted: readonly Target[]): Output | undefined => {
        if (wantsRows(invocation)) return records(andThen(deleted, attempts.finish), { columns: deletedFields, id: 'id' });
        attempts.finish();
        return undefined;
      };
      if (invocation.options.dryRun) {
        for (const { label } of targets) invocation.note(`Would delete ${noun} ${label}`);
        return finish(targets);
      }
      if (!invocation.options.yes && targets.length > 0)
        await confirm(invocation.world, `Delete ${noun} ${labels}${owner ? ` of ${ownerName}` : ''}?`);
      const gone = await attempts.each(targets, async ({ id, label }) => {
        await remove(invocation, id, found);
        invocation.note(`Deleted ${noun} ${label}`);
        return { id, label };
      });
      if (isShown) {
        const ids = gone.map(({ id }) => id);
        const isGone = async (): Promise<boolean> => !(await isShown(invocation, ids));
        await waitForReads(invocation, invocation.options, `that ${noun} ${labels} is gone`, isGone);
      }
      return finish(gone);
    },
  });
}

/** True for a response with status 403. */
export function isForbidden(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 403;
}

/** Adds a hint to a 403 error of a look-up: a whole id works without the right to list. Returns other errors unchanged. */
export function explainUnlisted(error: unknown, noun: string, name: string, idWord = 'id'): unknown {
  if (!isForbidden(error)) return error;
  return withHint(error, `finding ${noun} "${name}" by name needs permission to list; the full ${idWord} works without it`);
}
