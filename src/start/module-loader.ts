import { openSync, readSync, writeSync } from 'node:fs';
import { Script } from 'node:vm';
import type { Kept } from './code-cache.ts';

/**
 * Loads the files of the program from the bundle, with compiled code if available.
 *
 * Requirements on Node.js: `module.constructor` creates modules, `module.require` and `require.cache` can be used as its own loader uses
 * them, and `vm.Script` accepts compiled code and rejects that of another version.
 */

/** A loaded file of this program. */
export interface Loaded {
  readonly script: Script;
  /** Bytes of compiled code from earlier runs; 0 for none. */
  readonly known: number;
}

/** The folder of the program. */
const program = __dirname;

/**
 * Name of the bundle, and the offset and length of each file in it; the build sets this text. A command needs only a few files: parsing the
 * list takes longer than searching for these.
 */
const bundle = 'CLOUD_BUNDLE';
const bundleFile = bundle.slice(0, bundle.indexOf('|'));

/** Path of the bundle, which differs for each build and each location of the program. */
export const build = `${program}/${bundleFile}`;

/** The place of a file in the bundle; undefined if the bundle does not contain it. */
export function findPlace(name: string): { begin: number; length: number } | undefined {
  const at = bundle.indexOf(`|${name} `);
  if (at === -1) return undefined;
  const numbers = bundle.slice(at + name.length + 2, bundle.indexOf('|', at + 1)).split(' ');
  return { begin: Number(numbers[0]), length: Number(numbers[1]) };
}

const stderr = 2;

/** Opens the bundle. It stays open, so that a running command can load all its code even after an upgrade has replaced the file. */
function openBundle(): number {
  try {
    return openSync(build, 'r');
  } catch {
    writeSync(stderr, `cloud: ${build} cannot be read: if another release was just installed, run the command again\n`);
    return process.exit(1);
  }
}

/** The source of a file, a function expression whose parameters are those of a CommonJS module. */
function readCode(opened: number, name: string): string {
  const place = findPlace(name);
  const bytes = Buffer.allocUnsafeSlow(place?.length ?? 0);
  if (place === undefined || readSync(opened, bytes, 0, place.length, place.begin) !== place.length)
    throw new Error(`${build} does not contain ${name}`);
  return bytes.toString('latin1');
}

/** The class of modules, from an instance: importing it would load `node:module`. */
const Module = module.constructor as new (path: string, parent: NodeJS.Module) => NodeJS.Module;

/** Loads modules that are not files of this program. */
const loadOther = module.require.bind(module) as (id: string) => unknown;

/** Creates the loader for files of this program. Node.js would look for each file and its package.json in several places. */
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
    // Set last: a file that failed to load is loaded again the next time, instead of being an empty module.
    require.cache[path] = made;
    return made.exports;
  };
}

/** Makes `require` in this module load files from the bundle, with compiled code of earlier runs. @returns the files loaded so far */
export function loadFromBundle(kept: Kept): ReadonlyMap<string, Loaded> {
  const loaded = new Map<string, Loaded>();
  const load = createLoader(kept, loaded);
  module.require = (id) => load(id, module);
  return loaded;
}
