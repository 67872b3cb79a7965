import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { S3Options } from '../../src/server/store/s3/options.ts';
import { giveAway, unprivileged } from './unprivileged.ts';

/** Milliseconds that a start may take on a busy machine. */
const timeoutMs = 180_000;

/** Programs of one engine: their folder, and what was started in it. */
export interface Engine {
  readonly folder: string;
  /** Runs a program to its end. @returns what it printed */
  run(...words: string[]): string;
  /** Starts a program that stays. What it says is in `<name>.log` of the folder. */
  start(name: string, ...words: string[]): ChildProcess;
  /** Waits until `isReady` says so. @throws with the logs when a program ended before */
  wait(isReady: () => Promise<boolean>): Promise<void>;
  /** Ends all programs and removes the folder. */
  stop(): Promise<void>;
}

/** A store of the tests' own that speaks the S3 protocol. */
export interface TestS3 extends Pick<S3Options, 'endpoint' | 'region' | 'credentials'> {
  stop(): Promise<void>;
}

/** @param environment further variables of the programs */
export function createEngine(prefix: string, environment: Readonly<Record<string, string>> = {}): Engine {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  giveAway(folder);
  const env = { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`, HOME: folder, LANG: 'C.UTF-8', ...environment };
  const running = new Map<string, { child: ChildProcess; ended: Promise<void> }>();
  const [program, ...first] = unprivileged;
  const say = (): string =>
    [...running.keys()].map((name) => `${name}: ${readFileSync(join(folder, `${name}.log`), 'utf8').slice(-2000)}`).join('\n');
  return {
    folder,
    run: (...words) =>
      execFileSync(program, [...first, ...words], { env, cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
    start(name, ...words) {
      const child = spawn(program, [...first, ...words], { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
      const log = join(folder, `${name}.log`);
      appendFileSync(log, '');
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => appendFileSync(log, piece));
      running.set(name, { child, ended: new Promise((done) => child.once('close', () => done())) });
      return child;
    },
    async wait(isReady) {
      for (const end = Date.now() + timeoutMs; !(await isReady().catch(() => false)); await sleep(50)) {
        const dead = [...running].find(([, { child }]) => child.exitCode !== null || child.signalCode !== null);
        if (dead ?? Date.now() > end) throw new Error(`${dead?.[0] ?? 'the engine'} does not start\n${say()}`);
      }
    },
    async stop() {
      for (const { child, ended } of running.values()) {
        child.kill('SIGKILL');
        await ended;
      }
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
