import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'undici';

/** Environment of a process whose garbage is to be collected: the port of its debugger is any free one. */
export const collectable = { NODE_OPTIONS: '--inspect-port=0' };

/** The address of the debugger of a process, which is opened when it is asked for the first time. */
async function openDebugger(pid: number, logFile: string): Promise<string> {
  process.kill(pid, 'SIGUSR1');
  for (const until = Date.now() + 60_000; Date.now() < until; await sleep(20)) {
    const [, address] = /Debugger listening on (ws:\S+)/u.exec(readFileSync(logFile, 'utf8')) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error(`process ${pid} opened no debugger`);
}

/** What the debugger of a process answers to a command. */
async function command(pid: number, logFile: string, method: string, params = {}): Promise<unknown> {
  const socket = new WebSocket(await openDebugger(pid, logFile));
  const answered = await new Promise<string>((resolve, reject) => {
    socket.addEventListener('error', () => reject(new Error('the debugger does not answer')));
    socket.addEventListener('open', () => socket.send(JSON.stringify({ id: 1, method, params })));
    socket.addEventListener('message', ({ data }) => resolve(String(data)));
  });
  socket.close();
  return JSON.parse(answered);
}

/** Lets a service collect what it does not need any more, which V8 does some time later by itself. */
async function collectGarbage(pid: number, logFile: string): Promise<void> {
  await command(pid, logFile, 'HeapProfiler.collectGarbage');
}

/** Bytes of the objects and buffers that a service refers to, whatever V8 and the allocator have reserved besides. */
export async function readLiveMemory(pid: number, logFile: string): Promise<number> {
  await collectGarbage(pid, logFile);
  const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())';
  const answered = await command(pid, logFile, 'Runtime.evaluate', { expression });
  return (answered as { result: { result: { value: number } } }).result.result.value;
}
