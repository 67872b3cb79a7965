import type { Reporting } from './session/context.ts';
import { describeBuild } from './base/build.ts';
import { splitList } from './base/split-list.ts';
import { nouns } from './commands/index.ts';
import type { AnyCommand, Command, Context, Result } from './cli/command.ts';
import { CurlPrinted } from './session/curl.ts';
import { assertExactArguments } from './cli/exact-arguments.ts';
import { parsePlainLine, runCommand, type Parsed } from './cli/plain-line.ts';
import type { Extension } from './cli/extend.ts';
import { findCommand, findFirstWord, findNoun, type Found } from './cli/tree.ts';
import { ClosedPipe, createContradiction, exitCodes, explain, InterruptedError, UsageError } from './base/errors.ts';
import { colourEnabled } from './output/colour.ts';
import type { Sources } from './config/settings.ts';
import type { Filter, Format, Output, RenderOptions } from './output/kinds.ts';
import { text } from './output/kinds.ts';
import { saysJson, writeNote } from './output/notes.ts';
import type { Paged } from './output/pager.ts';
import { createWriter, writeText } from './output/writer.ts';
import { quoteShell } from './base/quote.ts';
import { redactQuery } from './base/redact.ts';
import { describeUnused, type World } from './base/world.ts';

/** Words about a secret, which may contain it. */
const secret = /pass(word|phrase)/i;
/** Words about passwords that contain none: the verb, and options that name the source of a password. */
const harmless = /^(?:password|--password-(?:file|stdin)(?:=.*)?)$/;

/** A URL that contains a password. */
const credentials = /:\/\/[^/?#]*:[^/?#]*@/;

/** True for a word that messages must not repeat, such as the word after an unknown option whose name looks like that of a secret. */
function isSecret(word: string, before = ''): boolean {
  const follows = before.startsWith('-') && secret.test(before) && !before.includes('=') && !harmless.test(before);
  return follows || credentials.test(word) || redactQuery(word) !== word || (secret.test(word) && !harmless.test(word));
}

/** The command line for messages: shortened to 120 characters, without secrets. */
function printLine(argv: readonly string[]): string {
  const words = argv.filter((word, at) => !isSecret(word, argv[at - 1])).map(quoteShell);
  const line = ['cloud', ...words].join(' ');
  return line.length > 120 ? `${line.slice(0, 117)}...` : line;
}

async function printHelp(found: Found, world: World): Promise<Output> {
  const { printCommandHelp, printGroupHelp, printRootHelp } = await import('./cli/help.ts');
  const width = Math.min(100, world.stdout.isTerminal ? world.stdout.columns() : 80);
  if (found.node === undefined) return text(printRootHelp(nouns, width));
  return text(
    found.node.kind === 'group' ? printGroupHelp(found.path, found.node, width) : printCommandHelp(found.path, found.node, width),
  );
}

function chooseFormat(globals: Readonly<Record<string, unknown>>): Format {
  if (globals['json'] === true) return 'json';
  return (globals['output'] as Format | undefined) ?? 'table';
}

function readList(value: unknown): string[] | undefined {
  if (typeof value !== 'string') return undefined;
  const names = splitList(value);
  return names.length === 0 ? undefined : names;
}

/** The filter of `--jq`, compiled before the command does anything, because the expression may be invalid. */
async function findFilter(globals: Readonly<Record<string, unknown>>, world: World): Promise<Filter | undefined> {
  const { jq } = globals;
  if (typeof jq !== 'string') return undefined;
  const format = globals['output'] === undefined ? 'json' : chooseFormat(globals);
  if (format !== 'json' && format !== 'jsonl') {
    throw new UsageError(`--jq filters JSON, not ${format}`, { hint: '-o jsonl filters each record, -o json all of them' });
  }
  const { openFilter } = await import('./output/jq.ts');
  const warn = (message: string): void => writeNote(world.stderr, 'warning', message, saysJson(globals));
  return await openFilter(jq, { warn, env: world.env, runKillable: world.runKillable ?? ((work) => work()) });
}

/** Refuses unknown fields before a command changes something: afterwards the result would be lost. @throws {UsageError} */
async function checkFields({ changes, fields }: AnyCommand, globals: Readonly<Record<string, unknown>>): Promise<void> {
  const [columns = [], sort = []] = [readList(globals['columns']), readList(globals['sort'])];
  if (changes !== true || fields === undefined || columns.length + sort.length === 0) return;
  const { assertFields } = await import('./output/rows.ts');
  assertFields(columns[0] === 'all' ? [] : columns, sort, fields);
}

/** @throws {UsageError} for forms of output that contradict each other, defaults of a wrong form, and unknown fields of a change */
async function checkOutput(node: AnyCommand, globals: Readonly<Record<string, unknown>>, { env }: World): Promise<void> {
  const { json, output } = globals;
  if (json === true && typeof output === 'string' && output !== 'json') throw createContradiction('-j', `-o ${output}`);
  if (env['CLOUD_OUTPUT'] || env['CLOUD_COLUMNS']) (await import('./cli/output-defaults.ts')).assertDefaults(globals, env);
  await checkFields(node, globals);
}

async function show(output: Output, globals: Readonly<Record<string, unknown>>, world: World, filter?: Filter): Promise<void> {
  if (output.kind === 'none') return;
  if (output.kind === 'text' && !filter) {
    const writer = createWriter(world.stdout);
    await writeText(output.text, writer);
    await writer.close();
    return;
  }
  const { render } = await import('./output/render.ts');
  const columns = readList(globals['columns']);
  const options: RenderOptions = {
    format: chooseFormat(globals),
    columns: columns?.[0] === 'all' ? 'all' : columns,
    sort: readList(globals['sort']),
    header: globals['noHeader'] !== true,
    long: globals['long'] === true,
    colour: isColoured(globals, world, 'stdout'),
    now: world.now,
    filter,
  };
  const mayBeLong = output.kind === 'records' && options.format === 'table' && world.stdout.isTerminal && globals['noPager'] !== true;
  const paged = mayBeLong ? await page(world) : undefined;
  try {
    await render(output, options, paged?.out ?? world.stdout);
  } finally {
    await paged?.finish();
  }
}

/** The user's pager, if there is one. */
async function page(world: World): Promise<Paged | undefined> {
  const { findPager, openPager } = await import('./output/pager.ts');
  const command = findPager(world);
  return command === undefined ? undefined : openPager(command, world);
}

function isColoured(globals: Readonly<Record<string, unknown>>, world: World, stream: 'stdout' | 'stderr'): boolean {
  const wanted = globals['color'];
  return colourEnabled(wanted === 'always' || wanted === 'never' ? wanted : 'auto', world.env, world[stream].isTerminal);
}

async function parseOptions(declared: AnyCommand, { path, rest }: Found): Promise<Parsed> {
  const { parseCommandLine } = await import('./cli/parser.ts');
  return parseCommandLine(declared, path, rest);
}

/** Adds the profile's output defaults to the global options. An unreadable profile has none; code that needs it reports the error. */
async function completeOptions(
  globals: Readonly<Record<string, unknown>>,
  { path }: Found,
  output: Output,
  { settings, warn }: Context,
): Promise<{ globals: Readonly<Record<string, unknown>>; output: Output }> {
  let sources: Sources;
  try {
    sources = settings();
  } catch (error) {
    if (error instanceof UsageError) return { globals, output };
    throw error;
  }
  if (sources.defaultOutput === undefined && sources.defaultColumns === undefined) return { globals, output };
  return (await import('./cli/output-defaults.ts')).addOutputDefaults(globals, { path, output, sources, warn });
}

/** Prints the result of a command, and then does what the command left for later. */
async function showResult(
  result: Result,
  found: Found,
  context: Context,
  { globals, world, filter }: { globals: Readonly<Record<string, unknown>>; world: World; filter: Filter | undefined },
): Promise<void> {
  const completed = await completeOptions(globals, found, result, context);
  await show(completed.output, completed.globals, world, filter);
  await result.afterwards?.();
}

/** The alias or plugin that the first word after global options names; undefined for commands of the program and unknown words. */
async function extend(world: World): Promise<Extension | undefined> {
  const at = findFirstWord(world.argv);
  const word = at < 0 ? '' : (world.argv[at] ?? '');
  if (word === '' || findNoun(nouns, word)) return undefined;
  return (await import('./cli/extend.ts')).findExtension(word, at, world);
}

/** How completion reports: not at all. */
const silent: Reporting = { fail: async () => exitCodes.failed, notesAsJson: false, canGlob: false };

/** True for a command that takes `--glob` and `--literal`, and was given neither. */
function canGlob({ glob, literal }: Readonly<Record<string, unknown>>): boolean {
  return glob === false && literal === false;
}

/** Runs one command line and returns the exit code. Reports all errors, in one line each. */
export async function run(world: World): Promise<number> {
  // Until the options are parsed, errors are printed as JSON if `-j` or `--json` is among the arguments.
  let globals: Readonly<Record<string, unknown>> = { json: world.argv.includes('-j') || world.argv.includes('--json') };
  let close = (): void => undefined;
  let failures = 0;
  /** Adds details to an error that depend on the settings of the command. */
  let refine = async (error: unknown): Promise<unknown> => error;

  async function report(error: unknown, item?: string): Promise<number> {
    if (error instanceof ClosedPipe) return failures > 0 ? exitCodes.partly : exitCodes.done;
    if (error instanceof CurlPrinted) {
      world.stdout.stream.write(`${error.line}\n`);
      return exitCodes.done;
    }
    const { reportError } = await import('./output/error-report.ts');
    // Interrupted operations throw an AbortError with a message of their own.
    const isAbort = error instanceof Error && error.name === 'AbortError' && world.interrupted.aborted;
    const explanation = explain(isAbort ? new InterruptedError('interrupted', { cause: error }) : await refine(error));
    const message = item === undefined ? explanation.message : `${item}: ${explanation.message}`;
    const hint = explanation.hint === undefined ? undefined : (await import('./cli/hint.ts')).repeatConnection(explanation.hint, globals);
    const err = world.stderr;
    await reportError(
      { ...explanation, message, ...(hint !== undefined && { hint }) },
      { command: printLine(world.argv), format: chooseFormat(globals), colour: isColoured(globals, world, 'stderr'), err },
    );
    if (world.env['CLOUD_DEBUG'] === '1' && error instanceof Error) err.stream.write(`${error.stack ?? ''}\n`);
    return explanation.exitCode;
  }

  try {
    const isCompletion = world.argv[0] === '__complete';
    if (world.cacheProblem !== undefined && !isCompletion)
      writeNote(world.stderr, 'warning', describeUnused('cache', world.cacheProblem), saysJson(globals));
    if (isCompletion) {
      const { complete } = await import('./commands/complete/index.ts');
      await complete(world, {
        nouns,
        open: async (...given) => (await import('./session/context.ts')).createContext(...given, silent),
      });
      return exitCodes.done;
    }
    const extension = await extend(world);
    if (extension?.kind === 'plugin') return await (await import('./cli/extend.ts')).runPlugin(extension.file, extension.argv, world);
    const found = await findCommand(nouns, extension?.argv ?? world.argv);
    if (found.wantsVersion) {
      await show(text(`cloud ${describeBuild()}, Node.js ${world.release}, ${world.system}`), globals, world);
      return exitCodes.done;
    }
    if (found.wantsHelp || found.node?.kind !== 'command') {
      if (!found.wantsHelp && found.rest.length > 0) (await import('./cli/parser.ts')).checkGlobalOptions(found.path, found.rest);
      await show(await printHelp(found, world), globals, world);
      return exitCodes.done;
    }
    const parsed = parsePlainLine(found.node, found.rest) ?? (await parseOptions(found.node, found));
    if (parsed.wantsHelp) {
      await show(await printHelp(found, world), globals, world);
      return exitCodes.done;
    }
    globals = parsed.globals;
    assertExactArguments(world);
    if (globals['noInput'] === true) (await import('./cli/prompt.ts')).forbidQuestions(world);
    await checkOutput(found.node, globals, world);
    const filter = await findFilter(globals, world);
    /** A filter needs JSON output; errors are JSON only if the user requested it. */
    const shown = filter && globals['output'] === undefined ? { ...globals, json: true } : globals;
    const { createContext } = await import('./session/context.ts');
    const fail: Context['fail'] = (error, item) => {
      failures += 1;
      return report(error, item);
    };
    const created = createContext(world, shown, { fail, notesAsJson: saysJson(globals), canGlob: canGlob(parsed.options) });
    close = created.close;
    refine = created.context.refine;
    const output = await runCommand(created.context, found.node as Command, parsed);
    if (output) await showResult(output, found, created.context, { globals: shown, world, filter });
    if (failures > 0) return exitCodes.partly;
    return (output?.kind === 'none' ? output.exitCode : undefined) ?? exitCodes.done;
  } catch (error) {
    return await report(error);
  } finally {
    close();
  }
}
