import type { OutputStream } from '../base/world.ts';
import { escapeControl, escapeData } from './escape.ts';

/** What is said on stderr beside errors: a note can be silenced, a warning cannot, a trace is a line of `--verbose`. */
export type NoteKind = 'note' | 'warning' | 'trace';

/** True when errors and notes are JSON lines, so that a program can read all of stderr. */
export function saysJson({ json, output }: Readonly<Record<string, unknown>>): boolean {
  return json === true || output === 'json' || output === 'jsonl';
}

/** Writes one message on stderr: a line of text, or with `asJson` a JSON object on one line. */
export function writeNote({ stream }: OutputStream, kind: NoteKind, message: string, asJson: boolean): void {
  stream.write(`${asJson ? escapeData(JSON.stringify({ [kind]: message })) : escapeControl(message)}\n`);
}
