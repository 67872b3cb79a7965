import { homedir } from 'node:os';
import { findFolderProblem } from '../base/private-files.ts';
import { markStart, nothing, openKept, writeKept } from './code-cache.ts';
import { build, findPlace, loadFromBundle } from './module-loader.ts';

/**
 * Starts the program with code that an earlier run compiled: compiling takes a fifth of the time of a short command. Newer versions of
 * Node.js can cache compiled code themselves (`module.enableCompileCache`), but take 9 ms more, and the umask decides who may write to
 * their files: anyone who can write there runs code as the user. Each file here belongs to one build in one location: V8 rejects code of
 * another version of Node.js, but of the source it compares only the length, and two versions of the program would keep overwriting each
 * other's file.
 *
 * `CLOUD_NO_CODE_CACHE=1` compiles everything and keeps nothing.
 */

/** A hash of a text. A collision only costs time. */
function number(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at += 1) sum = (Math.imul(sum, 31) + text.charCodeAt(at)) >>> 0;
  return sum;
}

/**
 * Loads the files of this program with the code in `file`, and adds the code that this run compiles: files that no earlier run had loaded,
 * and functions that a run with a new set of files has called.
 */
function keepCompiled(file: string): void {
  const found = openKept(file);
  const kept = found === nothing || markStart(file) ? found : nothing;
  const loaded = loadFromBundle(kept);
  process.on('exit', () => {
    const run = number([...loaded.keys()].sort().join());
    if (kept.runs.includes(run) && [...loaded.values()].every(({ known }) => known > 0)) return;
    const all = new Map<string, Buffer>();
    for (const name of kept.names) {
      const code = findPlace(name) ? kept.read(name) : undefined;
      if (code !== undefined) all.set(name, code);
    }
    for (const [name, { script, known }] of loaded) {
      const code = script.createCachedData();
      // V8 discards the code of functions that have not been called for a while.
      if (code.length > known) all.set(name, code);
    }
    writeKept(file, all, kept.runs.includes(run) ? kept.runs : [...kept.runs, run]);
  });
}

/** The cache folder of this program, as in `config/paths.ts`; importing that file would take longer than it saves. */
function findCache({ XDG_CACHE_HOME: cache = '', HOME: home }: NodeJS.ProcessEnv): string {
  // Uses the environment variable if possible: `homedir()` loads more code, which is needed only without HOME, as in a unit of systemd.
  return `${cache.startsWith('/') ? cache : `${home ?? homedir()}/.cache`}/cloud`;
}

// An empty HOME counts as unset, for all of the program: `homedir()` would return it, and files would be written to `/.config`.
if (process.env['HOME'] === '') delete process.env['HOME'];
const cache = findCache(process.env);
const folder = `${cache}/code`;
const problem = findFolderProblem([cache, folder]);
const isUsed = process.env['CLOUD_NO_CODE_CACHE'] !== '1';
if (isUsed && problem === undefined)
  keepCompiled(`${folder}/${process.version}-${number([build, ...process.execArgv].join(' ')).toString(36)}`);
else loadFromBundle(nothing);
void import('../main.ts').then(({ main }) => main(problem));
