import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTaskFolder, type TaskFolder } from '../../../src/server/jobs/task-files.ts';
import { mostEmissions, mostPaths, openEmissions } from '../../../src/server/jobs/tools/emissions.ts';

/** What the tools of a task leave, where a task has made it to overload the service. */

let directory: string;
let folder: TaskFolder;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'cloud-emissions-'));
});
afterEach(() => {
  folder.close();
  rmSync(directory, { recursive: true });
});

function write(number: number, body: string | Buffer, head = 'objects\0\0\0\0\0'): void {
  writeFileSync(join(directory, `${number}.head`), head);
  writeFileSync(join(directory, `${number}.body`), body);
}

async function read(): Promise<string[]> {
  const opened = openTaskFolder(directory);
  if (!opened) throw new Error('no folder');
  folder = opened;
  const emissions = openEmissions(folder);
  const paths: string[] = [];
  for (const emission of await emissions.list()) for (const path of await emissions.readPaths(emission)) paths.push(path);
  return paths;
}

test('paths are read in the order of the calls, while other work goes on', async () => {
  const half = mostPaths / 2;
  for (const number of [10, 9]) write(number, Array.from({ length: half }, (_, at) => `/demo/stor/${number}/${at}\0`).join(''));
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const paths = await read();
  clearInterval(timer);
  expect([paths.length, paths[0], paths.at(-1)]).toEqual([mostPaths, '/demo/stor/9/0', `/demo/stor/10/${half - 1}`]);
  expect(turns).toBeGreaterThan(0);
});

test('the number of outputs is limited', async () => {
  folder = {
    names: () => Array.from({ length: mostEmissions + 1 }, (_, at) => `${at}.head`),
    open: () => undefined,
    measure: () => 0,
    close: () => undefined,
  };
  await expect(openEmissions(folder).list()).rejects.toThrow('there are more than 5000');
  folder = { ...folder, names: () => Array.from({ length: mostEmissions + 1 }, (_, at) => `x${at}`) };
  await expect(openEmissions(folder).list()).rejects.toThrow('there are more than 5000');
});

test('the number of paths is limited, over all lists of a task', async () => {
  for (const number of [0, 1, 2]) write(number, '/\0'.repeat(mostPaths / 2));
  await expect(read()).rejects.toThrow('they name more than 50000 objects');
});

test('the bytes of lists are limited, over all lists of a task', async () => {
  for (const number of [0, 1]) write(number, Buffer.concat([Buffer.alloc(9 * 1024 * 1024, 'x'), Buffer.of(0)]));
  await expect(read()).rejects.toThrow('have more than 16777216 bytes');
});
