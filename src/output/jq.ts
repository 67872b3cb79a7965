import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import type { Jq, JqResult } from 'jq-wasm';
import { UsageError } from '../base/errors.ts';
import { createFilterWriter, type Expression, type Filtered } from './filter-writer.ts';
import type { Filter } from './kinds.ts';

export interface FilterOptions {
  /** Prints messages of the expression itself (`debug`). */
  readonly warn: (message: string) => void;
  /** Environment variables that the expression can read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Does work that blocks the event loop, since an expression may never end. */
  readonly runKillable: <T>(work: () => T) => T;
}

/** Loads jq as WebAssembly; the build puts it beside the program, compressed. */
async function loadEngine(): Promise<Jq> {
  const { loadJq } = await import('jq-wasm');
  return await loadJq({ wasmBinary: brotliDecompressSync(readFileSync(join(__dirname, 'jq.wasm.br'))) });
}

/** One output a line; `--` keeps the expression from being parsed as an option. */
const flags = ['--compact-output', '--'];

/** The first syntax error of an expression, with its place. */
function explainSyntax(stderr: string): UsageError {
  const [line = ''] = stderr.split('\n');
  const [, what = line, row, column] = /^jq: error: (.*?)(?: at <top-level>, line (\d+), column (\d+))?:?$/u.exec(line) ?? [];
  const place = row === undefined ? '' : ` (line ${row}, column ${column ?? ''})`;
  return new UsageError(`--jq: ${what}${place}`, { hint: 'write a jq expression: cloud help scripting' });
}

/** The reason why an expression failed on the data. */
function explainFailure(stderr: string): UsageError {
  const lines = stderr.split('\n');
  const error = lines.findLast((line) => line.startsWith('jq: error')) ?? lines.at(-1) ?? '';
  return new UsageError(`--jq: ${error.replace(/^jq: error \(at [^)]*\) ?:? ?/u, '') || 'stopped'}`);
}

function createExpression(engine: Jq, text: string, { warn, env, runKillable }: FilterOptions): Expression {
  const asks = /\benv\b|\$ENV\b/.test(text);
  const words = asks ? ['--argjson', 'given', JSON.stringify(env), ...flags] : flags;
  // The line end closes a comment at the end of the expression.
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
    // One call for all values, because each call takes milliseconds.
    applyToEach: (values) => apply(`[${values.join(',')}]`, `.[] | ${body}`),
  };
}

/** Compiles a jq expression to a filter. @throws {UsageError} when its syntax is invalid */
export async function openFilter(text: string, options: FilterOptions): Promise<Filter> {
  const engine = await loadEngine();
  const { exitCode, stderr } = engine.raw('', text, flags);
  if (exitCode !== 0) throw explainSyntax(stderr);
  const expression = createExpression(engine, text, options);
  return { filterTo: (writer, isEach, isTerminal) => createFilterWriter(expression, isEach, isTerminal, writer) };
}
