import { Writable } from 'node:stream';
import type { Format, Output, RenderOptions } from '../../../src/output/kinds.ts';
import { render } from '../../../src/output/render.ts';
import type { OutputStream } from '../../../src/base/world.ts';

/** A stream that keeps what is written to it. */
export interface Capture extends OutputStream {
  readonly chunks: string[];
  readonly text: () => string;
}

/** A pipe's end, or (with columns) a terminal. */
export function createCapture(columns?: number): Capture {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      chunks.push(chunk.toString());
      done();
    },
  });
  return { stream, isTerminal: columns !== undefined, columns: () => columns ?? 80, chunks, text: () => chunks.join('') };
}

const now = Date.parse('2026-03-10T12:00:00.000Z');

/** Options of a command that was given none. */
export function optionsOf(format: Format, more: Partial<RenderOptions> = {}): RenderOptions {
  return { format, header: true, long: false, colour: false, now: () => now, ...more };
}

/** What an output looks like in a pipe. */
export async function pipe(output: Output, format: Format, more: Partial<RenderOptions> = {}): Promise<string> {
  const out = createCapture();
  await render(output, optionsOf(format, more), out);
  return out.text();
}

/** What an output looks like on a terminal. */
export async function show(output: Output, format: Format, columns: number, more: Partial<RenderOptions> = {}): Promise<string> {
  const out = createCapture(columns);
  await render(output, optionsOf(format, more), out);
  return out.text();
}
