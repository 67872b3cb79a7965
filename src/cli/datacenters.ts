import { withHint } from '../base/error-copies.ts';
import { CloudError, InterruptedError, UsageError } from '../base/errors.ts';
import { splitList } from '../base/split-list.ts';
import type { ColumnSpec, Row, Rows } from '../output/kinds.ts';
import type { Context } from './command.ts';
import { createAbsentError } from './named.ts';
import { text } from './parameters.ts';
import { countFailures } from './attempts.ts';

/** Option of commands that read from several datacenters. */
export const datacenterOption = {
  dc: text('Datacenters to query: names, or all; adds a DC column', { placeholder: 'LIST', values: 'datacenter' }),
};

/** The value of `--dc`; undefined if the command lacks the option. */
export function findDatacenters({ options }: { readonly options: object }): string | undefined {
  return 'dc' in options && typeof options.dc === 'string' ? options.dc : undefined;
}

/** Adds `dc` as the first column of tables and as a field of each record. */
export function withDatacenter<S extends { columns: readonly ColumnSpec[]; fields?: readonly string[] }>(shown: S): S {
  return { ...shown, columns: ['dc', ...shown.columns], ...(shown.fields && { fields: ['dc', ...shown.fields] }) };
}

/** A datacenter of the cloud and its address. */
export interface Datacenter<C extends Context = Context> {
  readonly name: string;
  readonly url: string;
  /** The invocation, with requests sent to this datacenter. */
  readonly context: C;
}

/** Copies an invocation for another address. Copies property descriptors, because members are created when they are read. */
function moveTo<C extends Context>(invocation: C, url: string): C {
  const { args, options } = Object.getOwnPropertyDescriptors(invocation) as Record<string, PropertyDescriptor | undefined>;
  const members = Object.getOwnPropertyDescriptors(invocation.withOption('url', url));
  return Object.defineProperties({}, { ...members, ...(args && { args }), ...(options && { options }) }) as C;
}

/** The datacenters in a list of names, in its order; for `all`, all of them by name. @throws {NotFoundError} for an unknown name */
export async function chooseDatacenters<C extends Context>(invocation: C, words: string): Promise<Datacenter<C>[]> {
  const { compute, account } = invocation;
  const names = [...new Set(splitList(words))];
  if (names.length === 0) throw new UsageError('no datacenter is named', { hint: 'all, or names of: cloud datacenters list' });
  const urls = await compute.listDatacenters({ account });
  const known = Object.keys(urls).toSorted();
  const chosen = words.trim() === 'all' ? known : names;
  return chosen.map((name) => {
    if (!known.includes(name)) throw createAbsentError('datacenter', name, known, 'cloud datacenters list');
    const url = String(urls[name]);
    return { name, url, context: moveTo(invocation, url) };
  });
}

type Outcome = { readonly rows: Row[] } | { readonly error: unknown };

/** Completes the hints of an error, so that their commands are about the datacenter. */
async function completeHints(error: unknown, dc: string): Promise<unknown> {
  if (!(error instanceof CloudError) || error.hint === undefined) return error;
  const { repeatDatacenter } = await import('./hint.ts');
  return withHint(
    error,
    error.hints.map((hint) => repeatDatacenter(hint, dc)),
  );
}

/**
 * Reads from all datacenters concurrently; yields the rows in the order of the datacenters, with the datacenter's name as `dc`. Reports
 * those that fail and continues with the others. @throws {PartialError} at the end when a datacenter failed
 */
export async function* readEverywhere<C extends Context>(
  invocation: C,
  words: string,
  read: (context: C) => Promise<Rows> | Rows,
): AsyncGenerator<Row> {
  const { collectRows } = await import('../output/rows.ts');
  const datacenters = await chooseDatacenters(invocation, words);
  const asked = datacenters.map(async ({ context }): Promise<Outcome> => {
    try {
      return { rows: await collectRows(await read(context)) };
    } catch (error) {
      return { error };
    }
  });
  const failures = countFailures(invocation);
  for (const [at, { name: dc }] of datacenters.entries()) {
    const outcome = await asked[at];
    if (outcome === undefined) continue;
    if ('rows' in outcome) {
      for (const row of outcome.rows) yield { dc, ...row };
      continue;
    }
    if (outcome.error instanceof InterruptedError) throw outcome.error;
    await failures.report(await completeHints(outcome.error, dc), dc);
  }
  failures.finish(datacenters.length, `${datacenters.length} datacenters`);
}
