import { existsSync, openSync, closeSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ServiceName } from '../../src/api/operation.ts';
import type { Sandbox } from './sandbox.ts';

/** What a line of the shell printed and what it cost. */
export interface MeasuredRun {
  readonly stdout: string;
  readonly seconds: number;
  /** Most memory of the program, bytes. */
  readonly peak: number;
  /** Processor time of the program in all its threads, seconds. */
  readonly busy: number;
}

/** Most memory of a process, bytes; unlike what the system tells a parent, without that of the process that started it. */
function readPeak(statusFile: string): number {
  const status = readFileSync(statusFile, 'utf8');
  const [, kibibytes] = /VmHWM:\s+(\d+) kB/.exec(status) ?? [];
  if (kibibytes === undefined) throw new Error(`no VmHWM in ${statusFile}: ${JSON.stringify(status)}`);
  return Number(kibibytes) * 1024;
}

/** Most memory that the local service has used so far, bytes. */
export function peakOfService(user: Sandbox): number {
  return readPeak(`/proc/${user.local.pid}/status`);
}

/** Runs a line of bash with one `cloud` in it, which must end well and say nothing on stderr. */
export async function measureRun(user: Sandbox, line: string): Promise<MeasuredRun> {
  const hook = join(user.home, 'peak.cjs');
  const file = join(user.home, 'peak');
  const content = `require('fs').readFileSync('/proc/self/status', 'utf8') + JSON.stringify(process.cpuUsage())`;
  const write = `require('fs').writeFileSync(${JSON.stringify(file)}, ${content})`;
  writeFileSync(hook, `require('node:worker_threads').isMainThread && process.on('exit', () => ${write});`);
  rmSync(file, { force: true });
  const started = performance.now();
  const { code, stdout, stderr } = await user.shell(`set -o pipefail; ${line}`, { env: { NODE_OPTIONS: `--require "${hook}"` } });
  const seconds = (performance.now() - started) / 1000;
  expect([line, code, stderr.slice(0, 2000)]).toEqual([line, 0, '']);
  const { user: own, system } = JSON.parse(readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '') as NodeJS.CpuUsage;
  return { stdout, seconds, peak: readPeak(file), busy: (own + system) / 1_000_000 };
}

/** A request as the log of the local service has it. */
export interface LoggedRequest {
  readonly method: string;
  readonly target: string;
  readonly status: number;
}

/** The lines of a file from a byte on, and where the last of them ends. */
function readFrom(file: string, start: number): { text: string; end: number } {
  const log = openSync(file, 'r');
  try {
    const content = Buffer.alloc(statSync(file).size - start);
    const length = readSync(log, content, 0, content.length, start);
    const end = content.subarray(0, length).lastIndexOf('\n') + 1;
    return { text: content.toString('utf8', 0, end), end: start + end };
  } finally {
    closeSync(log);
  }
}

/**
 * Follows the log of the local service; each call gives the requests to one of its services since the one before. A long log is put aside by the
 * service, which then begins anew: once between two calls.
 */
export function followRequests(user: Pick<Sandbox, 'local'>, service: ServiceName = 'storage'): () => LoggedRequest[] {
  const file = join(user.local.dataDir, 'service.log');
  const findAside = (): number => statSync(`${file}.1`, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  let at = existsSync(file) ? statSync(file).size : 0;
  let aside = findAside();
  return () => {
    let earlier = '';
    if (findAside() !== aside) {
      earlier = readFrom(`${file}.1`, at).text;
      at = 0;
      aside = findAside();
    }
    const { text, end } = readFrom(file, at);
    at = end;
    const lines = `${earlier}${text}`.matchAll(/ (compute|storage) ([A-Z]+) (\S+) (\d{3}) /g);
    return [...lines]
      .filter(([, name]) => name === service)
      .map(([, , method = '', target = '', status]) => ({ method, target, status: Number(status) }));
  };
}
