import type { Field } from '../api/fields.ts';
import { ApiError, withHint } from '../base/errors.ts';
import { record, records, type ColumnSpec, type Output, type Row, type Rows } from '../output/kinds.ts';
import { createAttempts } from './attempts.ts';
import { command, type Command, type Context, type Example, type Invocation } from './command.ts';
import { flag, many, type Argument, type Arguments, type Options, type ValueSource } from './parameters.ts';
import { datacenterOption, findDatacenters, readEverywhere, withDatacenter } from './datacenters.ts';
import { confirm } from './prompt.ts';
import { waitForReads, waitOptions } from './wait.ts';
import { wantsRows } from './rows.ts';

/** What all shapes of commands share. */
interface Shape {
  summary: string;
  description?: string;
  /** Instead of those that the shape has. */
  aliases?: readonly string[];
  examples?: readonly Example[];
}

/** How a resource is shown. */
interface Shown {
  /** Columns of the table; all other fields are there for `--columns` and the data formats. */
  columns: readonly ColumnSpec[];
  /** The field that `-o name` prints. */
  id: string;
  /** What a row consists of, so that `--columns` knows a field that no row happens to have. */
  shape?: Field;
}

/** Names of all fields that a resource may have, as an output wants them. */
export function listFieldNames(shape: Field | undefined): { fields?: readonly string[] } {
  const fields = shape?.item?.fields ?? shape?.fields;
  return fields === undefined ? {} : { fields: Object.keys(fields) };
}

interface ListSpec<O extends Options> extends Shape, Shown {
  options?: O;
  /** What tables are sorted by without `--sort`. */
  order?: string;
  /** Other datacenters of the cloud can be asked as well: the command has `--dc`. */
  perDatacenter?: true;
  fetch: (invocation: Invocation<Record<never, never>, O>) => Promise<Rows> | Rows;
}

/** A command that lists resources. */
export function listCommand<const O extends Options = Record<never, never>>({
  columns,
  id,
  shape,
  order,
  perDatacenter,
  fetch,
  ...rest
}: ListSpec<O>): Command<Record<never, never>, O> {
  return command<Record<never, never>, O>({
    ...rest,
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

interface GetSpec<N extends string> extends Shape {
  /** Name of the argument, and what it may be. */
  argument: N;
  help: string;
  values?: ValueSource;
  id: string;
  /** Lines of the card; every field when absent. */
  columns?: readonly ColumnSpec[];
  /** Columns of the table that shows several. */
  listed: readonly ColumnSpec[];
  shape?: Field;
  /** Other datacenters of the cloud can be asked as well: the command has `--dc`. */
  perDatacenter?: true;
  fetch: (context: Context, name: string) => Promise<Row>;
}

/** A command that shows one resource as a card, several as a table. */
export function getCommand<const N extends string>({
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
}: GetSpec<N>): Command<Arguments> {
  return command<Arguments>({
    aliases: ['show'],
    ...rest,
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

interface ChangeSpec<A extends Arguments, O extends Options, R extends Row> extends Shape {
  arguments?: A;
  options?: O;
  id: string;
  columns?: readonly ColumnSpec[];
  change: (invocation: Invocation<A, O>) => Promise<R>;
  /** Said on stderr when it is done: `Created key laptop`. */
  done: (result: NoInfer<R>) => string;
}

/** A command that creates or updates a resource, shows it as it is now and says so. */
export function changeCommand<
  const A extends Arguments = Record<never, never>,
  const O extends Options = Record<never, never>,
  R extends Row = Row,
>({ id, columns, change, done, ...rest }: ChangeSpec<A, O, R>): Command<A, O> {
  return command({
    ...rest,
    run: async (invocation) => {
      const result = await change(invocation);
      invocation.note(done(result));
      return record(result, { id, ...(columns && { columns }) });
    },
  });
}

interface DeleteSpec<N extends string, L> extends Shape {
  argument: N;
  help: string;
  values?: ValueSource;
  /** What is deleted, for questions and messages: `key`. */
  noun: string;
  /** Gets, once for all arguments, what they are looked up in. */
  read: (context: Context) => Promise<L> | L;
  /** Finds what an argument names, and a label for it; throws when it names nothing or several things. */
  resolve: (list: L, name: string, context: Context) => Promise<Target> | Target;
  /** The id that a word is as it stands: it serves where the list may not be read. */
  wholeId?: (name: string) => string | undefined;
  /** What that id is called, when it is no id. */
  idWord?: string;
  remove: (context: Context, id: string) => Promise<unknown>;
  /** Where reads may lag: whether they still show one of these. The command then has `--wait`. */
  isShown?: (context: Context, ids: readonly string[]) => Promise<boolean>;
}

interface Target {
  id: string;
  label: string;
}

function labelWhole(id: string | undefined, label: string): Target | undefined {
  return id === undefined ? undefined : { id, label };
}

const deleteOptions = {
  yes: flag('Do not ask', { short: 'y' }),
  dryRun: flag('Only show what would be deleted', { short: 'n' }),
  ...waitOptions,
};

/** A command that deletes resources: it finds all of them, asks once, and tries each. */
export function deleteCommand<const N extends string, L>(spec: DeleteSpec<N, L>): Command<Arguments, typeof deleteOptions> {
  const { argument, help, values, noun, read, resolve, wholeId, idWord, remove, isShown, ...rest } = spec;
  const named: Record<string, Argument> = { [argument]: many(help, { ...(values && { values }) }) };
  const { yes, dryRun } = deleteOptions;
  return command({
    aliases: ['rm'],
    ...rest,
    arguments: named,
    // Without `--wait` its values are never looked at.
    options: isShown ? deleteOptions : ({ yes, dryRun } as typeof deleteOptions),
    run: async (invocation) => {
      const names = [...new Set(invocation.args[argument] as string[])];
      const attempts = createAttempts(invocation, names.length);
      const lookUp = await createLookUp({
        noun,
        idWord,
        read: async () => await read(invocation),
        find: (list: L, name: string) => resolve(list, name, invocation),
        takeWhole: wholeId && ((name) => labelWhole(wholeId(name), name)),
      });
      const targets = await attempts.each(names, lookUp);
      const labels = targets.map(({ label }) => label).join(', ');
      async function* listTargets(deleted: readonly Target[]): AsyncGenerator<Row> {
        for (const { id, label } of deleted) yield { id, label };
        attempts.finish();
      }
      /** Ends with what was or would be deleted, where a form of output is asked for. */
      const finish = (deleted: readonly Target[]): Output | undefined => {
        if (wantsRows(invocation)) return records(listTargets(deleted), { columns: ['id', 'label'], id: 'id' });
        attempts.finish();
        return undefined;
      };
      if (invocation.options.dryRun) {
        for (const { label } of targets) invocation.note(`Would delete ${noun} ${label}`);
        return finish(targets);
      }
      if (!invocation.options.yes && targets.length > 0) await confirm(invocation.world, `Delete ${noun} ${labels}?`);
      const gone = await attempts.each(targets, async ({ id, label }) => {
        await remove(invocation, id);
        invocation.note(`Deleted ${noun} ${label}`);
        return { id, label };
      });
      if (isShown) {
        await waitForReads(
          invocation,
          invocation.options,
          `that ${noun} ${labels} is gone`,
          async () =>
            !(await isShown(
              invocation,
              gone.map(({ id }) => id),
            )),
        );
      }
      return finish(gone);
    },
  });
}

/** Whether this is the refusal of what the caller has no right to. */
export function isForbidden(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 403;
}

/** A refusal to read what a name was to be looked up in, with the way that is left. Other errors as they are. */
export function explainUnlisted(error: unknown, noun: string, name: string, idWord = 'id'): unknown {
  if (!isForbidden(error)) return error;
  return withHint(error, `to find ${noun} "${name}" takes the right to list; its whole ${idWord} serves without`);
}

interface LookUp<L, T> {
  noun: string;
  /** What a whole id is called, when it is no id. */
  idWord?: string | undefined;
  read: () => Promise<L>;
  /** Finds in the list what a word names; throws when it names nothing or several things. */
  find: (list: L, word: string) => Promise<T> | T;
  /** What a word means that is a whole id; undefined for any other. Absent where the list cannot be done without. */
  takeWhole?: ((word: string) => T | undefined) | undefined;
}

/** Reads a list in which several words are looked up; where it may not be read, a whole id is taken as it is. */
export async function createLookUp<L, T>({ noun, idWord, read, find, takeWhole }: LookUp<L, T>): Promise<(word: string) => Promise<T>> {
  let list: L;
  try {
    list = await read();
  } catch (error) {
    if (takeWhole === undefined || !isForbidden(error)) throw error;
    return async (word) => {
      const found = takeWhole(word);
      if (found === undefined) throw explainUnlisted(error, noun, word, idWord);
      return found;
    };
  }
  return async (word) => await find(list, word);
}
