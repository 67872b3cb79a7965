import { spawn, type ChildProcess } from 'node:child_process';
import { resolve } from 'node:path';
import type { GatewayHome } from './gateway-process.ts';
import { usualIsolation } from './job-sandboxes.ts';

/** Workers as an operator runs them: processes of the built program. */

export interface WorkerProcess {
  readonly child: ChildProcess;
  /** The line that it prints when it takes tasks. */
  readonly told: { readonly worker: string; readonly pid: number; readonly isolation: string; readonly adminUrl?: string };
  /** Lines of its log so far. */
  readonly lines: () => readonly string[];
  /** Exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string | null>;
}

const builtProgram = resolve(import.meta.dirname, '../../bin/cloud');

/** Where workers run, and of which build they are. */
type WorkerHome = Pick<GatewayHome, 'sandbox' | 'places'> & { readonly program?: string };

/** Starts a process of `cloud server worker`, and waits until it takes tasks. It is to be ended by `child`. */
export function startWorkerProcess({ sandbox, places, program = builtProgram }: WorkerHome, ...words: string[]): Promise<WorkerProcess> {
  const isolation = usualIsolation() === 'none' && !words.includes('--isolation') ? ['--isolation', 'none'] : [];
  const all = ['server', 'worker', ...places, '-j', ...isolation, ...words];
  const child = spawn(process.execPath, [program, ...all], { cwd: sandbox.home, env: sandbox.env });
  let [stdout, stderr] = ['', ''];
  child.stderr.on('data', (piece: Buffer) => (stderr += piece.toString()));
  const ended = new Promise<number | string | null>((done) => child.once('close', (code, signal) => done(code ?? signal)));
  return new Promise((done, failed) => {
    child.stdout.on('data', (piece: Buffer) => {
      stdout += piece.toString();
      const line = stdout.split('\n').find((each) => each.startsWith('{"worker"') && each.endsWith('}'));
      if (line === undefined) return;
      done({ child, ended, told: JSON.parse(line) as WorkerProcess['told'], lines: () => stdout.split('\n').slice(0, -1) });
    });
    void ended.then((code) => failed(new Error(`the worker ended with ${code}: ${stderr}`)));
  });
}
