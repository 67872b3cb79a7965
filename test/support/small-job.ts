import { expect } from 'vitest';
import { readAll } from '../../src/api/message.ts';
import type { StorageClient } from '../../src/client/client.ts';

/** A job of the account `demo` whose outputs tell which inputs were done, and how often. */
export interface SmallJob {
  readonly id: string;
  /** Contents of its inputs. */
  readonly names: readonly string[];
}

/** Starts one with so many inputs of its own. */
export async function startSmallJob(storage: StorageClient, name: string, count: number): Promise<SmallJob> {
  const directory = `stor/job-${name}`;
  await storage.putDirectory({ account: 'demo', path: directory });
  const names = Array.from({ length: count }, (_, at) => `n${String(at).padStart(5, '0')}`);
  for (const each of names) await storage.putObject({ account: 'demo', path: `${directory}/${each}`, body: Buffer.from(`${each}\n`) });
  const phases = [{ exec: 'sleep 0.05; cat' }, { type: 'reduce' as const, exec: 'sort' }];
  const { location = '' } = await storage.createJob({ account: 'demo', phases });
  const id = location.split('/').at(-1) ?? '';
  const lines = names.map((each) => `/demo/${directory}/${each}\n`).join('');
  await storage.addJobInputs({ account: 'demo', id, body: Buffer.from(lines) });
  await storage.endJobInput({ account: 'demo', id });
  return { id, names };
}

/** Waits until it is done, and looks whether each input was done once. */
export async function finishSmallJob(
  storage: StorageClient,
  { id, names }: SmallJob,
  timeoutMs: { timeout: number; interval: number },
): Promise<void> {
  await expect.poll(async () => (await storage.getJob({ account: 'demo', id })).state, timeoutMs).toBe('done');
  let text = '';
  for await (const output of (await storage.getJobOutput({ account: 'demo', id })).records) {
    const { body } = await storage.getObject({ account: 'demo', path: output.slice('/demo/'.length) });
    text += Buffer.from(await readAll(body)).toString();
  }
  expect(text).toBe(names.map((name) => `${name}\n`).join(''));
}
