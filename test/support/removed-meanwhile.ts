import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** As soon as a file is missing, removes others from the other end. */
const script = `
const { existsSync, rmSync } = require('node:fs');
const folders = process.argv.slice(1);
process.stdout.write('ready');
while (folders.every((folder) => existsSync(folder + '/0') && existsSync(folder + '/99')));
for (let name = 0; name < 100; name += 3) for (const folder of folders) rmSync(folder + '/' + name, { force: true });
`;

/** Fills a folder with files of which another process removes some while the folder is being removed. @returns what waits for its end */
export async function fillRemovedMeanwhile(folder: string): Promise<() => Promise<unknown>> {
  const folders = Array.from({ length: 20 }, (_, index) => join(folder, `${index}`));
  for (const each of folders) {
    mkdirSync(each, { recursive: true });
    for (let name = 0; name < 100; name += 1) writeFileSync(join(each, `${name}`), '');
  }
  const other = spawn(process.execPath, ['-e', script, '--', ...folders], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(other, 'exit');
  await once(other.stdout, 'data');
  return () => ended;
}
