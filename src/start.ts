import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { Module } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { Script } from 'node:vm';

/**
 * Starts the program with code that an earlier run compiled: compiling takes a fifth of a short command's time. Node.js does that itself from 22.1
 * on; for older ones it is done here, for the files of this program only. They are named after their content, and V8 refuses what another release made.
 */

type Compile = (this: NodeJS.Module, code: string, file: string) => unknown;

/** The head of the file: name, begin and length of what was compiled. */
type Head = [name: string, begin: number, length: number][];

const program = __dirname;

/** What an earlier run kept, by file name; nothing when others could have written it. */
function readKept(file: string): Map<string, Buffer> {
  try {
    const { uid, mode } = statSync(file);
    if (uid !== process.getuid?.() || (mode & 0o022) !== 0) return new Map();
    const content = readFileSync(file);
    const start = 4 + content.readUInt32LE(0);
    const head = JSON.parse(content.toString('utf8', 4, start)) as Head;
    return new Map(head.map(([name, begin, length]) => [name, content.subarray(start + begin, start + begin + length)]));
  } catch {
    return new Map();
  }
}

function writeKept(file: string, kept: ReadonlyMap<string, Buffer>): void {
  const current = [...kept].filter(([name]) => existsSync(join(program, name)));
  let begin = 0;
  const head: Head = current.map(([name, { length }]) => {
    begin += length;
    return [name, begin - length, length];
  });
  const text = Buffer.from(JSON.stringify(head));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(text.length);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.${process.pid}`, Buffer.concat([size, text, ...current.map(([, code]) => code)]), { mode: 0o600 });
    renameSync(`${file}.${process.pid}`, file);
  } catch {
    // A disk that is full or read-only: the next run compiles again.
  }
}

function keepCompiled(file: string): void {
  const kept = readKept(file);
  const compiled = new Map<string, Script>();
  const prototype = Module.prototype as unknown as { _compile: Compile };
  const compile = prototype._compile;
  prototype._compile = function compileKept(code, path) {
    if (dirname(path) !== program) return compile.call(this, code, path);
    const name = basename(path);
    const cachedData = kept.get(name);
    const script = new Script(Module.wrap(code), { filename: path, cachedData });
    if (cachedData === undefined || script.cachedDataRejected === true) compiled.set(name, script);
    const run = script.runInThisContext() as (...given: unknown[]) => unknown;
    return run.call(this.exports, this.exports, (id: string) => this.require(id), this, path, program);
  };
  process.on('exit', () => {
    if (compiled.size === 0) return;
    for (const [name, script] of compiled) kept.set(name, script.createCachedData());
    writeKept(file, kept);
  });
}

/** Where compiled code is kept: in the user's cache, as `config/paths.ts` has it, which would load more than it saves. */
function findFolder({ XDG_CACHE_HOME: cache = '', HOME: home = '/' }: NodeJS.ProcessEnv): string {
  return join(cache.startsWith('/') ? cache : join(home, '.cache'), 'cloud', 'code');
}

function start(): void {
  const folder = findFolder(process.env);
  const { enableCompileCache } = Module as { enableCompileCache?: (folder: string) => unknown };
  if (enableCompileCache) enableCompileCache(folder);
  else keepCompiled(join(folder, process.version));
}

start();
void import('./main.ts').then(({ main }) => main());
