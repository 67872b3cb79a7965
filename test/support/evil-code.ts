import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const dist = resolve(import.meta.dirname, '../../dist');

/** What planted code prints when the program runs it. */
export const evilWord = 'the planted code ran';

/** Bytes in what V8 keeps of a script at which the length of its source stands: nothing else of the source is compared. */
const sourceLength = 8;

/** Compiles, in another process, a script of the length of a file of the program that prints `evilWord`: V8 takes it for what was compiled of that file. */
function compileEvil(name: string, length: number): Buffer {
  const script = `
    const { Script } = require('node:vm');
    const head = '(function (exports, require, module, __filename, __dirname) { ', tail = '\\n});';
    const evil = 'exports.main = async () => { require("node:fs").writeSync(2, ${JSON.stringify(evilWord)}); };'
      // The build gives what it exports a letter.
      + 'for (const name of "abcdefghijklmnopqrstuvwxyz") exports[name] = exports;';
    const source = head + evil.padEnd(${length} - head.length - tail.length) + tail;
    const made = new Script(source, { filename: ${JSON.stringify(join(dist, name))} });
    const exported = {};
    made.runInThisContext()(exported, require);
    exported.main();
    process.stdout.write(made.createCachedData());`;
  return execFileSync(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1e8 });
}

/** What was compiled, by name and length. */
const compiled = new Map<string, Buffer>();

/** Puts planted code into a file in which the program keeps what it compiled. */
export function plantEvilCode(file: string): void {
  const kept = readFileSync(file);
  const start = 4 + kept.readUInt32LE(0);
  const { files, runs } = JSON.parse(kept.toString('utf8', 4, start)) as { files: [string, number, number][]; runs: number[] };
  const [name = '', begin = 0] = files.find(([each]) => /^start-.*\.js$/u.test(each)) ?? [];
  const length = kept.readUInt32LE(start + begin + sourceLength);
  const code = compiled.get(`${name} ${length}`) ?? compileEvil(name, length);
  compiled.set(`${name} ${length}`, code);
  const head = Buffer.from(JSON.stringify({ files: [[name, 0, code.length]], runs }));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(head.length);
  const half = Buffer.concat([size, head, code]);
  writeFileSync(file, Buffer.concat([half, half]));
}
