import { group, type AnyCommand, type Context, type Group } from '../../../cli/command.ts';
import { parsePlainLine, type Parsed } from '../../../cli/plain-line.ts';
import { globalOptions } from '../../../cli/globals.ts';
import { findChild } from '../../../cli/tree.ts';
import { UsageError, exitCodes, explain } from '../../../base/errors.ts';
import { lazily } from '../../../base/lazily.ts';
import type { World } from '../../../base/world.ts';
import type { Output, Row } from '../../../output/kinds.ts';
import { lineVerbs, loadVerbs } from '../verbs.ts';
import { isGiven } from './touches.ts';
import { splitWords } from './words.ts';

/** The result of a line. */
export interface Receipt {
  /** Line number, from 1. */
  readonly line: number;
  readonly command: string;
  /** The exit code that the command would have. */
  readonly exitCode: number;
  /** The records that it printed. */
  readonly results: readonly Row[];
  /** Its notes and warnings. */
  readonly notes?: readonly string[];
  /** The error that ended it. */
  readonly error?: object;
  /** Failures of single items. */
  readonly failures?: readonly object[];
}

/** A parsed line. */
export interface ReadLine {
  readonly declared: AnyCommand;
  readonly path: readonly string[];
  readonly parsed: Parsed;
}

const loadAll = lazily(async () => group({ summary: '', commands: await loadVerbs(lineVerbs) }));

/** Global options that have no effect here. */
const harmless = new Set(['quiet', 'json', 'output', 'noInput']);

/** All other global options, which only apply to all lines. */
const refused = lazily(() => Object.keys(globalOptions()).filter((name) => !harmless.has(name)));

/** Parses a line; undefined for one without a command. A leading `cloud stor` is optional. @throws {UsageError} */
export async function readLine(text: string): Promise<ReadLine | undefined> {
  const words = splitWords(text);
  if (words[0] === 'cloud') words.shift();
  if (words[0] === 'stor') words.shift();
  if (words.length === 0) return undefined;
  let node: AnyCommand | Group = await loadAll();
  const path: string[] = [];
  while (node.kind === 'group') {
    const [word = ''] = words.splice(0, 1);
    const child = findChild(node, word);
    if (!child)
      throw new UsageError(
        `"${word}" is not a command of cloud stor${path.map((each) => ` ${each}`).join('')} that can be used in a line`,
        {
          hint: 'cloud stor --help',
        },
      );
    path.push(child[0]);
    node = child[1];
  }
  const parsed = parsePlainLine(node, words) ?? (await import('../../../cli/parser.ts')).parseCommandLine(node, ['stor', ...path], words);
  const odd = refused().find((name) => isGiven(parsed.globals[name]));
  if (parsed.wantsHelp || odd !== undefined)
    throw new UsageError(`${odd === undefined ? '--help' : `--${odd}`} cannot be used in a line: give it to cloud stor run`);
  if (isGiven(parsed.options['watch'])) throw new UsageError('--watch cannot be used in a line: it would never end');
  return { declared: node, path, parsed };
}

/** The error for a command that writes to stdout. */
function createStdoutError(hint: string): UsageError {
  return new UsageError('the command writes to stdout, which is used for receipts', { hint });
}

/** The world of a line: stdin may contain the lines themselves, stdout gets the receipts, so commands use neither, and nobody is asked. */
function withoutStreams(world: World): World {
  const stdin = {
    isTerminal: false,
    get stream(): never {
      throw new UsageError('a line cannot read stdin', { hint: 'give a file instead of -' });
    },
  };
  const stdout = {
    isTerminal: false,
    get stream(): never {
      throw createStdoutError('run it outside of cloud stor run');
    },
  };
  const own = { stdin: { value: stdin }, stdout: { value: stdout } };
  return Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(world), ...own }) as World;
}

async function collect(output: Output | undefined, results: Row[]): Promise<number> {
  if (output === undefined) return exitCodes.done;
  if (output.kind === 'bytes') throw createStdoutError('give a file to write to');
  if (output.kind === 'records') for await (const row of output.rows) results.push(row);
  else if (output.kind === 'record') results.push(output.value);
  else if (output.kind === 'text') results.push({ text: output.text });
  return (output.kind === 'none' ? output.exitCode : undefined) ?? exitCodes.done;
}

/** The shared state of all lines. */
export interface Lines {
  readonly context: Context;
  /** True if `--yes` was given for all lines. */
  readonly yes: boolean;
}

/** Creates the context of all lines, with one set of connections. */
export function shareConnections(context: Context, connections: number): Context {
  const storage = context.bulk(connections);
  const global = { ...context.global, output: 'jsonl' as const, json: false, quiet: true };
  const shared = { storage: { value: storage }, bulk: { value: () => storage }, global: { value: global } };
  const world = { value: withoutStreams(context.world) };
  // Each line has its own values.
  const own = { args: { value: {}, writable: true }, options: { value: {}, writable: true } };
  return Object.create(context, { ...shared, ...own, world }) as Context;
}

/** Runs a line. All errors are in its receipt. */
export async function runLine({ context, yes }: Lines, number: number, text: string, read: () => ReadLine): Promise<Receipt> {
  const results: Row[] = [];
  const notes: string[] = [];
  const failures: object[] = [];
  const say = (message: string): void => void notes.push(message);
  const describe = (error: unknown) => {
    const { exitCode, ...error_ } = explain(error);
    return { exitCode, error: error_ };
  };
  let outcome: { exitCode: number; error?: object };
  try {
    const { declared, parsed } = read();
    const options = yes && 'yes' in parsed.options ? { ...parsed.options, yes: true } : parsed.options;
    const fail = async (error: unknown, item?: string): Promise<number> => {
      const told = describe(error);
      failures.push({ ...(item !== undefined && { item }), ...told.error });
      return told.exitCode;
    };
    const own = { args: parsed.args, options, note: say, warn: say, voice: { say, retried: 0, isJson: true }, fail };
    // Members of a context are lazy getters: they are inherited, not copied, which would also take longer for each line than parsing it.
    const invocation = Object.assign(Object.create(context) as Context, own);
    const exitCode = await collect(await declared.run(invocation as never), results);
    outcome = { exitCode: failures.length > 0 ? exitCodes.partly : exitCode };
  } catch (error) {
    outcome = describe(error);
  }
  return {
    line: number,
    command: text.trim(),
    exitCode: outcome.exitCode,
    results,
    ...(notes.length > 0 && { notes }),
    ...(outcome.error && { error: outcome.error }),
    ...(failures.length > 0 && { failures }),
  };
}
