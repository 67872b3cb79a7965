import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import { once } from 'node:events';
import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathOfTasks, rootDirectory, type Isolation } from './isolation.ts';
import { removeTree } from './remove-tree.ts';
import { guardScript, runnerScript } from './zone-scripts.ts';

/** What a zone is to do. */
export interface ZoneOptions {
  readonly isolation: Isolation;
  /** Name of the zone, which tasks carry in their environment. */
  readonly name: string;
  /** Directory of the zone; made by `prepareZone`. */
  readonly directory: string;
  readonly dataDir: string;
  readonly command: string;
  readonly init?: string | undefined;
  /** Most memory of a process, MiB. */
  readonly memory?: number | undefined;
  /** Largest file that a task may write, GiB. */
  readonly disk?: number | undefined;
  /** Variables of every task. */
  readonly environment: Readonly<Record<string, string>>;
  /** Milliseconds that a task, or init, may take. */
  readonly timeLimit: number;
}

/** How a command ended. */
export interface Ending {
  /** Exit code, or 128 and the number of a signal. */
  readonly status: number;
  /** Whether a signal ended it. */
  readonly signalled: boolean;
  /** Milliseconds that it took. */
  readonly duration: number;
}

/** What the runner is told of a task. */
export interface ZoneTask {
  /** Its files are `in/SLOT`, `root/work/SLOT`, `out/SLOT` and `err/SLOT` in the zone. */
  readonly slot: string;
  readonly object: string;
  /** Path of the input as seen inside; empty for the concatenation of the files in `in/SLOT/list`. */
  readonly file: string;
  readonly outputBase: string;
  readonly reducer: string;
}

/** The zone ended before the task did; the task can be tried again. */
export class ZoneLost extends Error {
  override readonly name = 'ZoneLost';
  /** Whether the task had begun. */
  readonly begun: boolean;

  constructor(message: string, begun: boolean) {
    super(message);
    this.begun = begun;
  }
}

/** The task took longer than it may, and was killed with its zone. */
export class TaskTooLong extends Error {
  override readonly name = 'TaskTooLong';
}

/** A working area of a phase: a process that runs one task after the other. */
export interface Zone {
  readonly name: string;
  readonly directory: string;
  /** How init ended; 0 when there was none. @throws {ZoneLost} {TaskTooLong} */
  readonly ready: Promise<Ending>;
  /** Hands a task over; it begins when those before it are over. @throws {ZoneLost} {TaskTooLong} */
  run(task: ZoneTask): Promise<Ending>;
  /** Kills every process of the zone and removes its directory. */
  end(): Promise<void>;
}

interface Waiting {
  resolve(ending: Ending): void;
  reject(error: Error): void;
}

/** Makes the directories of a zone. */
export async function prepareZone(directory: string): Promise<void> {
  await mkdir(rootDirectory(directory), { recursive: true, mode: 0o700 });
  const inside = ['in', 'work', 'home', 'tmp', 'assets'].map((name) => join(rootDirectory(directory), name));
  for (const folder of [...inside, ...['in', 'out', 'err'].map((name) => join(directory, name))]) await mkdir(folder, { mode: 0o700 });
}

function writeEnvironment({ isolation, name, directory, environment }: ZoneOptions): Record<string, string> {
  const root = isolation.rootOf(directory);
  return {
    PATH: pathOfTasks(isolation.bash),
    HOME: join(root, 'home'),
    TMPDIR: join(root, 'tmp'),
    LANG: 'C.UTF-8',
    ...environment,
    MANTA_ASSETS: join(root, 'assets'),
    CLOUD_ASSETS: join(root, 'assets'),
    CLOUD_ZONE: name,
  };
}

function writeWords(options: ZoneOptions): string[] {
  const { isolation, name, directory, dataDir, command, init = '', memory, disk } = options;
  const { bash } = isolation;
  const limits = [memory, disk].map((value, index) => (value === undefined ? '' : String(Math.ceil(value * 1024 ** (index + 1)))));
  const reach = isolation.kind === 'namespaces' ? 'all' : 'group';
  const runner = [
    bash,
    '-c',
    runnerScript,
    'cloud-zone',
    isolation.rootOf(directory),
    isolation.inputsOf(directory),
    reach,
    command,
    init,
    ...limits,
  ];
  return ['-c', guardScript, 'cloud-guard', name, directory, ...isolation.wrap(directory, dataDir), ...runner];
}

/** Starts a zone in its prepared directory. */
export async function startZone(options: ZoneOptions): Promise<Zone> {
  const { directory, isolation, timeLimit } = options;
  const log = await open(join(directory, 'log'), 'w', 0o600);
  const child = spawn(isolation.bash, writeWords(options), {
    cwd: '/',
    env: writeEnvironment(options),
    stdio: ['pipe', 'pipe', log.fd, 'pipe'],
    detached: true,
  });
  await log.close();
  const [input, output, , life] = child.stdio as unknown as [Writable, Readable, null, Writable];
  const waiting: Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;
  let begun = performance.now();
  let lost: string | undefined;
  let isKilling = false;
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve()).once('exit', () => resolve());
  });
  for (const stream of [input, life]) stream.on('error', () => undefined);

  const kill = (): void => {
    isKilling = true;
    input.destroy();
    life.destroy();
  };
  const watch = (): void => {
    clearTimeout(timer);
    begun = performance.now();
    timer = waiting.length === 0 || isKilling ? undefined : setTimeout(expire, timeLimit);
  };
  const expire = (): void => {
    waiting.shift()?.reject(new TaskTooLong(`longer than ${timeLimit / 1000} s`));
    kill();
  };
  const expect = (): Promise<Ending> =>
    new Promise((resolve, reject) => {
      if (lost !== undefined) return reject(new ZoneLost(lost, false));
      waiting.push({ resolve, reject });
      if (waiting.length === 1) watch();
    });
  const takeLine = (line: string): void => {
    const [, status, signalled] = line.split(' ');
    waiting.shift()?.resolve({ status: Number(status), signalled: signalled === '1', duration: performance.now() - begun });
    watch();
  };
  // Tasks that are handed over in one turn are one write.
  const send = (text: string): void => {
    if (input.writableCorked === 0) {
      input.cork();
      setImmediate(() => input.uncork());
    }
    input.write(text);
  };
  const lines = createInterface({ input: output });
  lines.on('line', takeLine);
  const closed = once(lines, 'close').then(async () => {
    const said = await readFile(join(directory, 'log'), 'utf8').catch(() => '');
    const message = `the zone ended${said.trim() === '' ? '' : `: ${said.trim().split('\n').at(-1)}`}`;
    lost = message;
    clearTimeout(timer);
    for (const [index, { reject }] of waiting.splice(0).entries()) reject(new ZoneLost(message, index === 0));
  });
  const ready = expect();
  ready.catch(() => undefined);

  return {
    name: options.name,
    directory,
    ready,
    run: ({ slot, object, file, outputBase, reducer }) => {
      const ended = expect();
      if (lost === undefined && !isKilling) send(`${[slot, object, file, outputBase, reducer].join('\0')}\0`);
      return ended;
    },
    end: async () => {
      kill();
      await Promise.all([closed, exited]);
      await removeTree(directory);
    },
  };
}
