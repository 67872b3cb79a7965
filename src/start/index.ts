import { homedir } from 'node:os';
import { findFolderProblem } from '../base/private-files.ts';
import { markStart, nothing, openKept, writeKept } from './code-cache.ts';
import { build, findPlace, loadFromBundle } from './module-loader.ts';

/**
 * Starts the program with code that an earlier run compiled: compiling takes a fifth of a short command's time. Newer releases of Node.js can do that
 * themselves (`module.enableCompileCache`), but take 9 ms more, and leave what they keep open to whom the umask lets in: whoever writes there runs
 * code as the user. What is kept here is of the files of one build in one place: V8 refuses what another release of Node.js made, but of a text it
 * looks at the length alone, and two versions would write theirs over each other's again and again.
 *
 * `CLOUD_NO_CODE_CACHE=1` compiles everything and keeps nothing.
 */

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
      // After a while V8 lets go of what is not called any more.
      if (code.length > known) all.set(name, code);
    }
    writeKept(file, all, [...kept.runs, run]);
  });
}

/** The cache of this program, as `config/paths.ts` has it, which would load more than it saves. */
function findCache({ XDG_CACHE_HOME: cache = '', HOME: home }: NodeJS.ProcessEnv): string {
  // The variable is what is asked first: without it, as in a unit of systemd, this loads what knows users.
  return `${cache.startsWith('/') ? cache : `${home ?? homedir()}/.cache`}/cloud`;
}

const cache = findCache(process.env);
const folder = `${cache}/code`;
const problem = findFolderProblem([cache, folder]);
const isUsed = process.env['CLOUD_NO_CODE_CACHE'] !== '1';
if (isUsed && problem === undefined) keepCompiled(`${folder}/${process.version}-${number(build).toString(36)}`);
else loadFromBundle(nothing);
void import('../main.ts').then(({ main }) => main(problem));
