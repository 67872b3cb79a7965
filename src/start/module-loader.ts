import { openSync, readSync, writeSync } from 'node:fs';
import { Script } from 'node:vm';
import type { Kept } from './code-cache.ts';

/**
 * Loads the files of the program from the one file that holds them, with compiled code where there is some.
 *
 * What it expects of Node.js: `module.constructor` makes modules, `module.require` and `require.cache` may be used as by its own loader, and
 * `vm.Script` takes compiled code and refuses that of another release.
 */

/** A file of this program as it was loaded. */
export interface Loaded {
  readonly script: Script;
  /** Bytes of what earlier runs had compiled of it; 0 for nothing. */
  readonly known: number;
}

/** The folder of the program. */
export const program = __dirname;

/**
 * The file that holds all others of this program, and where each begins in it and how long it is; the build puts both in. A command asks for a few of
 * them: to make an object of all takes longer than to look for those.
 */
const bundle = 'CLOUD_BUNDLE';
const bundleFile = bundle.slice(0, bundle.indexOf('|'));

/** What is another text for each build of the program, and for each place that one is at. */
export const build = `${program}/${bundleFile}`;

/** Where a file of this program lies in the bundle; undefined when it is not there. */
export function findPlace(name: string): { begin: number; length: number } | undefined {
  const at = bundle.indexOf(`|${name} `);
  if (at === -1) return undefined;
  const numbers = bundle.slice(at + name.length + 2, bundle.indexOf('|', at + 1)).split(' ');
  return { begin: Number(numbers[0]), length: Number(numbers[1]) };
}

const stderr = 2;

/**
 * Opens the file that holds the program. It stays open, so that a command that runs has all of its code to its end, also when
 * another release has taken its place meanwhile.
 */
function openBundle(): number {
  try {
    return openSync(build, 'r');
  } catch {
    writeSync(stderr, `cloud: ${build} cannot be read: where another release has just been installed, run the command again\n`);
    return process.exit(1);
  }
}

/** A file of this program, as a function that is given what a module needs. */
function readCode(opened: number, name: string): string {
  const place = findPlace(name);
  const bytes = Buffer.allocUnsafeSlow(place?.length ?? 0);
  if (place === undefined || readSync(opened, bytes, 0, place.length, place.begin) !== place.length)
    throw new Error(`${build} does not hold ${name}`);
  return bytes.toString('latin1');
}

/** What makes a module, from one: the module of Node.js that has it would have to be loaded. */
const Module = module.constructor as new (path: string, parent: NodeJS.Module) => NodeJS.Module;

/** Loads what is no file of this program. */
const loadOther = module.require.bind(module) as (id: string) => unknown;

/** Loads the files of this program. Node.js itself would look for each, and for what belongs to it, at several places. */
function createLoader(kept: Kept, loaded: Map<string, Loaded>): (id: string, parent: NodeJS.Module) => unknown {
  const opened = openBundle();
  return function load(id, parent) {
    if (!id.startsWith('./')) return loadOther(id);
    const name = id.slice(2);
    const path = `${program}/${name}`;
    const known = require.cache[path];
    if (known !== undefined) return known.exports;
    const code = readCode(opened, name);
    const made = new Module(path, parent);
    const cachedData = kept.read(name);
    const script = new Script(code, { filename: path, cachedData });
    loaded.set(name, { script, known: script.cachedDataRejected === true ? 0 : (cachedData?.length ?? 0) });
    const run = script.runInThisContext() as (...given: unknown[]) => unknown;
    run.call(made.exports, made.exports, (next: string) => load(next, made), made, path, program);
    // What could not be loaded is loaded anew the next time, and not taken for an empty module.
    require.cache[path] = made;
    return made.exports;
  };
}

/** Lets this module load the files of the program, with what earlier runs kept of them; what it loaded so far. */
export function loadFromBundle(kept: Kept): ReadonlyMap<string, Loaded> {
  const loaded = new Map<string, Loaded>();
  const load = createLoader(kept, loaded);
  module.require = (id) => load(id, module);
  return loaded;
}
