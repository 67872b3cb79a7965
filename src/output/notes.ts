import type { OutputStream } from '../base/world.ts';
import { escapeControl, escapeData } from './escape.ts';

/** Messages on stderr other than errors: `--quiet` hides notes but not warnings; a trace is a line of `--verbose`. */
export type NoteKind = 'note' | 'warning' | 'trace';

/** True if errors and notes are written as JSON lines, so that programs can parse all of stderr. */
export function saysJson({ json, output }: Readonly<Record<string, unknown>>): boolean {
  return json === true || output === 'json' || output === 'jsonl';
}

/** One message as a line of text, or with `asJson` as a JSON object on one line. */
export function formatNote(kind: NoteKind, message: string, asJson: boolean): string {
  return `${asJson ? escapeData(JSON.stringify({ [kind]: message })) : escapeControl(message)}\n`;
}

/** Writes one message on stderr. */
export function writeNote({ stream }: OutputStream, kind: NoteKind, message: string, asJson: boolean): void {
  stream.write(formatNote(kind, message, asJson));
}
