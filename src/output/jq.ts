import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import type { Jq, JqResult } from 'jq-wasm';
import { UsageError } from '../base/errors.ts';
import { createFilterWriter, type Expression, type Filtered } from './filter-writer.ts';
import type { Filter } from './kinds.ts';

/** What a filter needs of its surroundings. */
export interface FilterOptions {
  /** Says what the expression itself says, by `debug`. */
  readonly warn: (message: string) => void;
  /** Variables that the expression can ask for. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Does work that cannot be interrupted in an orderly way: an expression may have no end. */
  readonly runKillable: <T>(work: () => T) => T;
}

/** jq itself as WebAssembly; the build has put it beside the program, compressed. */
async function loadEngine(): Promise<Jq> {
  const { loadJq } = await import('jq-wasm');
  return await loadJq({ wasmBinary: brotliDecompressSync(readFileSync(join(__dirname, 'jq.wasm.br'))) });
}

/** One output a line; the expression is never taken for an option. */
const flags = ['--compact-output', '--'];

/** The first thing that is wrong with an expression, and where. */
function explainSyntax(stderr: string): UsageError {
  const [line = ''] = stderr.split('\n');
  const [, what = line, row, column] = /^jq: error: (.*?)(?: at <top-level>, line (\d+), column (\d+))?:?$/u.exec(line) ?? [];
  const place = row === undefined ? '' : ` (line ${row}, column ${column ?? ''})`;
  return new UsageError(`--jq: ${what}${place}`, { hint: 'expressions are those of jq: cloud help scripting' });
}

/** Why an expression does not fit the data. */
function explainFailure(stderr: string): UsageError {
  const lines = stderr.split('\n');
  const error = lines.findLast((line) => line.startsWith('jq: error')) ?? lines.at(-1) ?? '';
  return new UsageError(`--jq: ${error.replace(/^jq: error \(at [^)]*\) ?:? ?/u, '') || 'stopped'}`);
}

/** An expression that has been checked. */
function createExpression(engine: Jq, text: string, { warn, env, runKillable }: FilterOptions): Expression {
  const asks = /\benv\b|\$ENV\b/.test(text);
  const words = asks ? ['--argjson', 'given', JSON.stringify(env), ...flags] : flags;
  // A comment ends with its line.
  const body = `${asks ? '$given as $ENV | def env: $ENV; ' : ''}(${text}\n)`;
  function run(json: string, program: string): JqResult | UsageError {
    try {
      return runKillable(() => engine.raw(json, program, words));
    } catch (error) {
      return new UsageError(`--jq: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  }
  function apply(json: string, program: string): Filtered {
    const result = run(json, program);
    if (result instanceof Error) return { outputs: [], failure: result };
    const { stdout, stderr, exitCode } = result;
    const outputs = stdout === '' ? [] : stdout.split('\n');
    if (exitCode !== 0) return { outputs, failure: explainFailure(stderr) };
    if (stderr !== '') for (const line of stderr.split('\n')) warn(line);
    return { outputs };
  }
  return {
    applyToText: (json) => apply(json, body),
    // One call for all of them: each takes milliseconds.
    applyToEach: (values) => apply(`[${values.join(',')}]`, `.[] | ${body}`),
  };
}

/**
 * An expression of jq as a filter.
 * @throws {UsageError} when it is none
 */
export async function openFilter(text: string, options: FilterOptions): Promise<Filter> {
  const engine = await loadEngine();
  const { exitCode, stderr } = engine.raw('', text, flags);
  if (exitCode !== 0) throw explainSyntax(stderr);
  const expression = createExpression(engine, text, options);
  return { filterTo: (writer, isEach, isTerminal) => createFilterWriter(expression, isEach, isTerminal, writer) };
}
