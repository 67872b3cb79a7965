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
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';

/**
 * Starts the program with code that an earlier run compiled: compiling takes a fifth of a short command's time. Newer releases
 * of Node.js can do that themselves, but leave what they keep open to whom the umask lets in: whoever writes there runs code as the user. What is kept
 * here is of the files of this program only. They are named after their content, and V8 refuses what another release made. Each
 * place where the program is installed has its own, or two versions would write theirs over each other's again and again.
 */

/** The head of the file: name, begin and length of what was compiled. */
type Head = [name: string, begin: number, length: number][];

/** What an earlier run kept. */
interface Kept {
  readonly names: () => readonly string[];
  readonly read: (name: string) => Buffer | undefined;
}

const program = __dirname;
/** Holds the length of the head, and nearly always the head. */
const firstRead = 8192;

const nothing: Kept = { names: () => [], read: () => undefined };

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
    const places = new Map(head.map(([name, begin, length]) => [name, { begin, length }]));
    return {
      names: () => [...places.keys()],
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
    const path = join(folder, name);
    if (statSync(path).mtimeMs < Date.now() - longestKept) rmSync(path);
  }
}

function writeKept(path: string, kept: ReadonlyMap<string, Buffer>): void {
  let begin = 0;
  const head: Head = [...kept].map(([name, { length }]) => {
    begin += length;
    return [name, begin - length, length];
  });
  const text = Buffer.from(JSON.stringify(head));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(text.length);
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(`${path}.${process.pid}`, Buffer.concat([size, text, ...kept.values()]), { mode: 0o600 });
    const isFirst = !existsSync(path);
    renameSync(`${path}.${process.pid}`, path);
    if (isFirst) removeOld(dirname(path));
  } catch {
    // A disk that is full or read-only: the next run compiles again.
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
function createLoader(kept: Kept, compiled: Map<string, Script>): (id: string, parent: NodeJS.Module) => unknown {
  return function load(id, parent) {
    if (!id.startsWith('./')) return loadOther(id);
    const name = id.slice(2);
    const path = join(program, name);
    const known = require.cache[path];
    if (known !== undefined) return known.exports;
    const made = new Module(path, parent);
    require.cache[path] = made;
    // Put together as bytes: as text it would be in memory twice.
    const code = Buffer.concat([head, readFileSync(path), tail]).toString();
    const cachedData = kept.read(name);
    const script = new Script(code, { filename: path, cachedData });
    if (cachedData === undefined || script.cachedDataRejected === true) compiled.set(name, script);
    const run = script.runInThisContext() as (...given: unknown[]) => unknown;
    run.call(made.exports, made.exports, (next: string) => load(next, made), made, path, program);
    return made.exports;
  };
}

/** Loads the files of this program with what an earlier run kept in a file, and keeps what this one compiles. */
function keepCompiled(file: string): void {
  const kept = openKept(file);
  const compiled = new Map<string, Script>();
  const load = createLoader(kept, compiled);
  module.require = (id) => load(id, module);
  process.on('exit', () => {
    if (compiled.size === 0) return;
    const all = new Map<string, Buffer>();
    for (const name of kept.names()) {
      const code = existsSync(join(program, name)) ? kept.read(name) : undefined;
      if (code !== undefined) all.set(name, code);
    }
    for (const [name, script] of compiled) all.set(name, script.createCachedData());
    writeKept(file, all);
  });
}

/** Where compiled code is kept: in the user's cache, as `config/paths.ts` has it, which would load more than it saves. */
function findFolder({ XDG_CACHE_HOME: cache = '', HOME: home = '/' }: NodeJS.ProcessEnv): string {
  return join(cache.startsWith('/') ? cache : join(home, '.cache'), 'cloud', 'code');
}

/** A number for the place where the program is installed. Two places that have the same by accident lose time only. */
function numberPlace(): string {
  let number = 0;
  for (let at = 0; at < program.length; at += 1) number = (Math.imul(number, 31) + program.charCodeAt(at)) >>> 0;
  return number.toString(36);
}

keepCompiled(join(findFolder(process.env), `${process.version}-${numberPlace()}`));
void import('./main.ts').then(({ main }) => main());
