import { closeSync, readSync } from 'node:fs';
import type { Headers } from '../../../api/message.ts';
import type { TaskFolder } from '../task-files.ts';

/**
 * An output of a tool: bytes that become an output of the task, an object that is stored in addition to the outputs, or paths of objects.
 */
export interface Emission {
  readonly kind: 'output' | 'tee' | 'objects' | 'none';
  readonly reducer: number | undefined;
  /** Path of the object; empty for a name that the service chooses. */
  readonly path: string;
  /** True if missing directories above the object are created. */
  readonly parents: boolean;
  readonly copies: string | undefined;
  readonly headers: Headers;
  /** Name of the file with the bytes, or with the paths. */
  readonly body: string;
}

/** Maximum size of a `.head` file, and of a list of paths, in bytes. */
const largestHead = 64 * 1024;
const largestList = 16 * 1024 * 1024;

const kinds = ['output', 'tee', 'objects', 'none'] as const;

/** The files are not in the format that the tools write. */
export class BrokenEmission extends Error {
  override readonly name = 'BrokenEmission';
}

function readTexts(folder: TaskFolder, name: string, most: number): string[] {
  const descriptor = folder.open(name);
  if (descriptor === undefined) throw new BrokenEmission(`${name} is missing`);
  try {
    const room = Buffer.allocUnsafe(most + 1);
    let size = 0;
    for (let read = -1; read !== 0 && size <= most; size += read) read = readSync(descriptor, room, size, room.length - size, null);
    if (size > most) throw new BrokenEmission(`${name} has more than ${most} bytes`);
    return room.toString('utf8', 0, size).split('\0').slice(0, -1);
  } finally {
    closeSync(descriptor);
  }
}

function readHeaders(lines: readonly string[]): Headers {
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      const [name, value] = [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
      if (colon < 1 || /[^!#$%&'*+.^_`|~\w-]/.test(name) || /[^\t\x20-\x7e]/.test(value)) throw new BrokenEmission(`not a header: ${line}`);
      return [name, value];
    }),
  );
}

function readEmission(folder: TaskFolder, number: number): Emission {
  const [given = '', reducer = '', path = '', parents = '', copies = '', ...headers] = readTexts(folder, `${number}.head`, largestHead);
  const kind = kinds.find((known) => known === given);
  if (!kind || !/^\d{0,9}$/.test(reducer)) throw new BrokenEmission(`${number}.head is not of a tool`);
  return {
    kind,
    reducer: reducer === '' ? undefined : Number(reducer),
    path,
    parents: parents === '1',
    copies: copies === '' ? undefined : copies,
    headers: readHeaders(headers),
    body: `${number}.body`,
  };
}

/** The outputs of the tools, in the order in which the tools were called. @throws {BrokenEmission} */
export function readEmissions(folder: TaskFolder): Emission[] {
  const numbers = folder.names.flatMap((name) => (/^\d{1,9}\.head$/.test(name) ? [Number.parseInt(name, 10)] : []));
  return numbers.toSorted((left, right) => left - right).map((number) => readEmission(folder, number));
}

/** Paths of the objects passed to `mcat`. @throws {BrokenEmission} */
export function readPaths(folder: TaskFolder, { body }: Emission): string[] {
  return readTexts(folder, body, largestList);
}
