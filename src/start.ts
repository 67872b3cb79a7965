import {
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { Script } from 'node:vm';

/**
 * Starts the program with code that an earlier run compiled: compiling takes a fifth of a short command's time. Newer releases
 * of Node.js can do that themselves, but leave what they keep open to whom the umask lets in: whoever writes there runs code as the user. What is kept
 * here is of the files of this program only. They are named after their content, and V8 refuses what another release made. Each
 * place where the program is installed has its own, or two versions would write theirs over each other's again and again.
 */

/** The head of the file. */
interface Head {
  /** Name, begin and length of what was compiled. */
  readonly files: readonly [name: string, begin: number, length: number][];
  /** Runs by what they loaded, as numbers: what they called is compiled too. */
  readonly runs: readonly number[];
}

/** What earlier runs kept. */
interface Kept {
  readonly names: readonly string[];
  readonly runs: readonly number[];
  readonly read: (name: string) => Buffer | undefined;
}

/** A file of this program as it was loaded. */
interface Loaded {
  readonly script: Script;
  /** Bytes of what earlier runs had compiled of it; 0 for nothing. */
  readonly known: number;
}

const program = __dirname;
/** Holds the length of the head, and nearly always the head. */
const firstRead = 8192;

/** Kinds of runs that are remembered; there are fewer than commands. */
const mostRuns = 200;

const nothing: Kept = { names: [], runs: [], read: () => undefined };

function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, position));
}

/** Opens what an earlier run kept; nothing when others could have written it. */
function openKept(path: string): Kept {
  try {
    const file = openSync(path, 'r');
    const { uid, mode } = fstatSync(file);
    if (uid !== process.getuid?.() || (mode & 0o022) !== 0) return nothing;
    const first = readAt(file, 0, firstRead);
    const start = 4 + first.readUInt32LE(0);
    const head = JSON.parse((start > first.length ? readAt(file, 0, start) : first).toString('utf8', 4, start)) as Head;
    const places = new Map(head.files.map(([name, begin, length]) => [name, { begin, length }]));
    return {
      names: [...places.keys()],
      runs: head.runs,
      read: (name) => {
        const place = places.get(name);
        return place && readAt(file, start + place.begin, place.length);
      },
    };
  } catch {
    return nothing;
  }
}

/** Milliseconds after which what was kept for another release or place goes: a place that is still in use writes its own anew. */
const longestKept = 30 * 24 * 3_600_000;

function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = `${folder}/${name}`;
    if (statSync(path).mtimeMs < Date.now() - longestKept) rmSync(path);
  }
}

function removePart(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Nothing was written where nothing can be removed.
  }
}

function writeKept(path: string, kept: ReadonlyMap<string, Buffer>, runs: readonly number[]): void {
  let begin = 0;
  const files: Head['files'] = [...kept].map(([name, { length }]) => {
    begin += length;
    return [name, begin - length, length];
  });
  const head: Head = { files, runs };
  const text = Buffer.from(JSON.stringify(head));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(text.length);
  const part = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(part, Buffer.concat([size, text, ...kept.values()]), { mode: 0o600 });
    const isFirst = !existsSync(path);
    renameSync(part, path);
    if (isFirst) removeOld(dirname(path));
  } catch {
    // A disk that is full or read-only: the next run compiles again, and finds no more on it than this one did.
    removePart(part);
  }
}

/** What makes a module, from one: the module of Node.js that has it would have to be loaded. */
const Module = module.constructor as new (path: string, parent: NodeJS.Module) => NodeJS.Module;

/** Loads what is no file of this program. */
const loadOther = module.require.bind(module) as (id: string) => unknown;

/** Code becomes a function that is given what a module needs, as Node.js does it. */
const head = Buffer.from('(function (exports, require, module, __filename, __dirname) { ');
const tail = Buffer.from('\n});');

/** Loads the files of this program. Node.js itself would look for each, and for what belongs to it, at several places. */
function createLoader(kept: Kept, loaded: Map<string, Loaded>): (id: string, parent: NodeJS.Module) => unknown {
  return function load(id, parent) {
    if (!id.startsWith('./')) return loadOther(id);
    const name = id.slice(2);
    const path = `${program}/${name}`;
    const known = require.cache[path];
    if (known !== undefined) return known.exports;
    const made = new Module(path, parent);
    require.cache[path] = made;
    // Put together as bytes: as text it would be in memory twice.
    const code = Buffer.concat([head, readFileSync(path), tail]).toString();
    const cachedData = kept.read(name);
    const script = new Script(code, { filename: path, cachedData });
    loaded.set(name, { script, known: script.cachedDataRejected === true ? 0 : (cachedData?.length ?? 0) });
    const run = script.runInThisContext() as (...given: unknown[]) => unknown;
    run.call(made.exports, made.exports, (next: string) => load(next, made), made, path, program);
    return made.exports;
  };
}

/** A number for a text. Two texts that have the same by accident lose time only. */
function number(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at += 1) sum = (Math.imul(sum, 31) + text.charCodeAt(at)) >>> 0;
  return sum;
}

/**
 * Loads the files of this program with what earlier runs kept in a file, and keeps what this one compiles: files that none had loaded, and what a run
 * of a new kind has called in the others.
 */
function keepCompiled(file: string): void {
  const kept = openKept(file);
  const loaded = new Map<string, Loaded>();
  const load = createLoader(kept, loaded);
  module.require = (id) => load(id, module);
  process.on('exit', () => {
    const run = number([...loaded.keys()].sort().join());
    if (kept.runs.includes(run) && [...loaded.values()].every(({ known }) => known > 0)) return;
    const all = new Map<string, Buffer>();
    for (const name of kept.names) {
      const code = existsSync(`${program}/${name}`) ? kept.read(name) : undefined;
      if (code !== undefined) all.set(name, code);
    }
    for (const [name, { script, known }] of loaded) {
      const code = script.createCachedData();
      // After a while V8 lets go of what is not called any more.
      if (code.length > known) all.set(name, code);
    }
    writeKept(file, all, [...kept.runs, run].slice(-mostRuns));
  });
}

/** Where compiled code is kept: in the user's cache, as `config/paths.ts` has it, which would load more than it saves. */
function findFolder({ XDG_CACHE_HOME: cache = '', HOME: home }: NodeJS.ProcessEnv): string {
  // The variable is what is asked first: without it, as in a unit of systemd, this loads what knows users.
  return `${cache.startsWith('/') ? cache : `${home ?? homedir()}/.cache`}/cloud/code`;
}

keepCompiled(`${findFolder(process.env)}/${process.version}-${number(program).toString(36)}`);
void import('./main.ts').then(({ main }) => main());
