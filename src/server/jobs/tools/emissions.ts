import { closeSync, fstatSync, readSync } from 'node:fs';
import type { Headers } from '../../../api/message.ts';
import { createPauses } from '../../../base/pauses.ts';
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

/** Maximum number of outputs of the tools of one task, and of paths of objects passed to `mcat`. */
export const mostEmissions = 5000;
export const mostPaths = 50_000;

/** Maximum size of a `.head` file, and of all `.head` files and lists of paths of a task together, in bytes. */
const largestHead = 64 * 1024;
const largestSum = 16 * 1024 * 1024;

const kinds = ['output', 'tee', 'objects', 'none'] as const;

/** The files are not in the format that the tools write. */
export class BrokenEmission extends Error {
  override readonly name = 'BrokenEmission';
}

/** Outputs of the tools of a task. The files of a task are read up to fixed limits, in short turns of the event loop. */
export interface Emissions {
  /** In the order in which the tools were called. @throws {BrokenEmission} */
  list(): Promise<Emission[]>;
  /** Paths of the objects passed to `mcat`. @throws {BrokenEmission} */
  readPaths(emission: Emission): Promise<string[]>;
}

/** Reads a file of the tools. @throws {BrokenEmission} if it is missing or has more than `most` bytes */
function readBytes(folder: TaskFolder, name: string, most: number): Buffer {
  const descriptor = folder.open(name);
  if (descriptor === undefined) throw new BrokenEmission(`${name} is missing`);
  try {
    const length = fstatSync(descriptor).size;
    if (length > most) throw new BrokenEmission(`${name} has more than ${most} bytes`);
    const bytes = Buffer.allocUnsafe(length);
    let size = 0;
    for (let read = -1; read !== 0 && size < length; size += read) read = readSync(descriptor, bytes, size, length - size, null);
    return bytes.subarray(0, size);
  } finally {
    closeSync(descriptor);
  }
}

/** The texts in `bytes`, each of which ends with a zero byte. */
function* splitTexts(bytes: Buffer): Generator<string> {
  for (let start = 0, end = bytes.indexOf(0); end !== -1; start = end + 1, end = bytes.indexOf(0, start)) {
    yield bytes.toString('utf8', start, end);
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

function parseEmission(number: number, bytes: Buffer): Emission {
  const [given = '', reducer = '', path = '', parents = '', copies = '', ...headers] = splitTexts(bytes);
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

/** Numbers of the outputs in a folder. @throws {BrokenEmission} */
function listNumbers(folder: TaskFolder): number[] {
  const numbers: number[] = [];
  let others = 0;
  for (const name of folder.names()) {
    if (/^\d{1,9}\.head$/.test(name)) numbers.push(Number.parseInt(name, 10));
    else others += 1;
    // Each output has one other file.
    if (Math.max(numbers.length, others) > mostEmissions) throw new BrokenEmission(`there are more than ${mostEmissions}`);
  }
  return numbers.toSorted((left, right) => left - right);
}

/** Opens the outputs that the tools of a task left in a folder. */
export function openEmissions(folder: TaskFolder): Emissions {
  const pause = createPauses();
  let [sum, paths] = [0, 0];
  const read = (name: string, most: number): Buffer => {
    const bytes = readBytes(folder, name, most);
    sum += bytes.length;
    if (sum > largestSum) throw new BrokenEmission(`their names, headers and lists of paths have more than ${largestSum} bytes`);
    return bytes;
  };
  return {
    async list() {
      const emissions: Emission[] = [];
      for (const number of listNumbers(folder)) {
        emissions.push(parseEmission(number, read(`${number}.head`, largestHead)));
        await pause();
      }
      return emissions;
    },
    async readPaths({ body }) {
      const texts: string[] = [];
      for (const text of splitTexts(read(body, largestSum))) {
        paths += 1;
        if (paths > mostPaths) throw new BrokenEmission(`they name more than ${mostPaths} objects`);
        texts.push(text);
        await pause();
      }
      return texts;
    },
  };
}
