import { UsageError } from '../base/errors.ts';
import { escapeData, escapeLines } from './escape.ts';
import type { Writer } from './writer.ts';

/** Outputs of an expression, and the error that ended it. */
export interface Filtered {
  /** Each output as JSON on one line. */
  readonly outputs: readonly string[];
  readonly failure?: Error;
}

/** A compiled jq expression. */
export interface Expression {
  /** Applies the expression to the values in a text. */
  readonly applyToText: (json: string) => Filtered;
  /** Applies the expression to each value; stops at the first failure. */
  readonly applyToEach: (values: readonly string[]) => Filtered;
}

/** Characters of records that are filtered together. */
const chunkLength = 64 * 1024;

/** Most characters of JSON that are filtered as a whole. */
const longestText = 256 * 1024 * 1024;

/** An output of the expression: strings unquoted, other values as JSON. */
function writeOutput(json: string, isTerminal: boolean): string {
  if (!isTerminal && !json.startsWith('"')) return json;
  const value: unknown = JSON.parse(json);
  if (typeof value !== 'string') return escapeData(JSON.stringify(value, null, 2));
  return isTerminal ? escapeLines(value) : value;
}

/**
 * A writer that filters JSON and passes the outputs to another writer: all at once when it is closed, or with `isEach` record by record,
 * where records that arrive in the same turn of the event loop are filtered together. Outputs before a failure are written before it is
 * thrown.
 */
export function createFilterWriter(expression: Expression, isEach: boolean, isTerminal: boolean, writer: Writer): Writer {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let size = 0;
  let turn: NodeJS.Immediate | undefined;
  let failure: unknown;

  function flush(): Promise<void> | undefined {
    clearImmediate(turn);
    turn = undefined;
    if (pieces.length === 0) return undefined;
    const { outputs, failure: failed } = isEach ? expression.applyToEach(pieces) : expression.applyToText(pieces.join(''));
    pieces = [];
    size = 0;
    failure = failed;
    return outputs.length === 0 ? undefined : writer.write(outputs.map((json) => `${writeOutput(json, isTerminal)}\n`).join(''));
  }

  /** Flushes without a caller that waits: the next `write` or `close` throws the error. */
  function flushLater(): void {
    try {
      flush()?.catch(() => undefined);
    } catch (error) {
      failure = error;
    }
  }

  function write(text: string): Promise<void> | undefined {
    if (failure !== undefined) throw failure;
    pieces.push(text);
    size += text.length;
    if (isEach) {
      if (size >= chunkLength) return flush();
      turn ??= setImmediate(flushLater);
    } else if (size > longestText) {
      throw new UsageError('--jq: the JSON output is too large to be filtered as a whole', {
        hint: 'for lists of records: -o jsonl filters each record',
      });
    }
    return undefined;
  }

  return {
    write,
    writeBytes: (bytes) => write(decoder.decode(bytes, { stream: true })),
    close: async () => {
      if (failure === undefined) await flush();
      await writer.close();
      if (failure !== undefined) throw failure;
    },
  };
}
