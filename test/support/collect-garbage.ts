import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'undici';
import type { LocalInfo } from './sandbox.ts';

/** Environment of a process whose garbage is to be collected: the port of its debugger is any free one. */
export const collectable = { NODE_OPTIONS: '--inspect-port=0' };

type LocalService = Pick<LocalInfo, 'pid' | 'dataDir'>;

/** The address of the debugger of a service, which is opened when it is asked for the first time. */
async function openDebugger({ pid, dataDir }: LocalService): Promise<string> {
  process.kill(pid, 'SIGUSR1');
  for (const until = Date.now() + 60_000; Date.now() < until; await sleep(20)) {
    const [, address] = /Debugger listening on (ws:\S+)/u.exec(readFileSync(join(dataDir, 'service.log'), 'utf8')) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error(`process ${pid} opened no debugger`);
}

/** What the debugger of a service answers to a command. */
async function command(service: LocalService, method: string, params = {}): Promise<unknown> {
  const socket = new WebSocket(await openDebugger(service));
  const answered = await new Promise<string>((resolve, reject) => {
    socket.addEventListener('error', () => reject(new Error('the debugger does not answer')));
    socket.addEventListener('open', () => socket.send(JSON.stringify({ id: 1, method, params })));
    socket.addEventListener('message', ({ data }) => resolve(String(data)));
  });
  socket.close();
  return JSON.parse(answered);
}

/**
 * Bytes of the objects and buffers that a service refers to, whatever V8 and the allocator have reserved besides. It collects its garbage
 * first, which V8 does some time later by itself.
 */
export async function readLiveMemory(service: LocalService): Promise<number> {
  await command(service, 'HeapProfiler.collectGarbage');
  const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())';
  const answered = await command(service, 'Runtime.evaluate', { expression });
  return (answered as { result: { result: { value: number } } }).result.result.value;
}
