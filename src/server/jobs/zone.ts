import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { rmdirSync } from 'node:fs';
import { chmod, chown, mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Isolation } from './isolation.ts';
import type { Ending } from './outcome.ts';
import { createZoneLimits, type LimitOptions, type ZoneLimits } from './zone-limits.ts';
import { removeTree } from './remove-tree.ts';
import { entryDirectory, zoneFolders, type Identity } from './zone-place.ts';
import { createQueue, LimitReached } from './zone-queue.ts';
import { guardScript, runnerScript, writeTask } from './zone-scripts.ts';

/** Options of a zone. */
export interface ZoneOptions extends Omit<LimitOptions, 'groups'> {
  readonly isolation: Isolation;
  readonly command: string;
  readonly init?: string | undefined;
  /** Environment variables of every task. */
  readonly environment: Readonly<Record<string, string>>;
  /** Time limit of a task, or of init, in milliseconds. */
  readonly timeLimit: number;
}

/** A task as the runner gets it. */
export interface ZoneTask {
  /** Its files are `in/SLOT`, `root/work/SLOT`, `out/SLOT` and `err/SLOT` in the zone. */
  readonly slot: string;
  readonly object: string;
  /** Path of the input inside the sandbox; empty for the concatenation of the files in `in/SLOT/list`. */
  readonly file: string;
  readonly outputBase: string;
  readonly reducer: string;
}

/** The working area of a phase: a process that runs tasks one after the other. */
export interface Zone {
  readonly name: string;
  readonly directory: string;
  /** How init ended; status 0 if there is no init. @throws {ZoneLost} {TaskTooLong} */
  readonly ready: Promise<Ending>;
  /** Hands a task over; it begins when the tasks before it have ended. @throws {ZoneLost} {TaskTooLong} {TaskTakenBack} */
  run(task: ZoneTask): Promise<Ending>;
  /** Withdraws all tasks that have not begun. */
  takeBack(): void;
  /** Kills every process of the zone and removes its directory. */
  end(): Promise<void>;
}

/** Creates the directories of a zone; those that tasks write to belong to `identity`. */
export async function prepareZone(directory: string, identity?: Identity): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const name of zoneFolders) {
    const folder = join(directory, name);
    await mkdir(folder, { mode: 0o700 });
    if (identity && name !== 'in') await chown(folder, identity.uid, identity.gid);
  }
  if (!identity) return;
  // The directories above this one are accessible to root alone.
  await chmod(directory, 0o711);
  await chmod(join(directory, 'in'), 0o755);
}

function writeEnvironment({ isolation, name, directory, environment }: ZoneOptions): Record<string, string> {
  const root = isolation.rootOf(directory);
  return {
    PATH: isolation.path,
    HOME: join(root, 'home'),
    TMPDIR: join(root, 'tmp'),
    LANG: 'C.UTF-8',
    ...environment,
    MANTA_ASSETS: isolation.assetsOf(directory),
    CLOUD_ASSETS: isolation.assetsOf(directory),
    CLOUD_ZONE: name,
  };
}

/** Limits of open files and processes of a zone in a sandbox. Without a sandbox they are not set: the same user may run other processes. */
const mostFiles = 4096;
const mostProcesses = 1024;

function writeWords(options: ZoneOptions, { group, data, blocks }: ZoneLimits): string[] {
  const { isolation, name, directory, command, init = '' } = options;
  const {
    words,
    filter = '',
    shell,
  } = isolation.launch(directory, {
    identity: isolation.identify(name),
    isSampled: options.memory !== undefined && group === '',
  });
  const reach = isolation.kind === 'none' ? 'group' : 'all';
  const places = [isolation.entryOf(directory), isolation.rootOf(directory), isolation.inputsOf(directory)];
  const counts = reach === 'all' ? [String(mostFiles), String(mostProcesses)] : ['', ''];
  const runner = [shell, '-c', runnerScript, 'cloud-zone', ...places, reach, isolation.bash, command, init, data, blocks, ...counts];
  return ['-c', guardScript, 'cloud-guard', name, directory, reach, group, filter, ...words, ...runner];
}

/** Starts a zone in its prepared directory. */
export async function startZone(options: ZoneOptions): Promise<Zone> {
  const { directory, isolation } = options;
  const limits = createZoneLimits({ ...options, groups: isolation.groups });
  const log = await open(join(directory, 'log'), 'w', 0o600);
  const child = spawn(isolation.bash, writeWords(options, limits), {
    cwd: '/',
    env: writeEnvironment(options),
    stdio: ['pipe', 'pipe', log.fd, 'pipe'],
    detached: true,
  });
  await log.close();
  const [input, output, , life] = child.stdio as unknown as [Writable, Readable, null, Writable];
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve()).once('exit', () => resolve());
  });
  for (const stream of [input, output, life]) stream.on('error', () => undefined);
  const kill = (): void => {
    queue.stop();
    limits.stop();
    input.destroy();
    life.destroy();
  };
  const queue = createQueue(options, limits, kill);
  // Tasks handed over in the same turn of the event loop are sent in one write.
  const send = (text: string): void => {
    if (input.writableCorked === 0) {
      input.cork();
      setImmediate(() => input.uncork());
    }
    input.write(text);
  };
  // Removing a directory that is a mount point in another mount namespace removes the mount there. The runner keeps its working directory,
  // but tasks have no path to it.
  const enter = (): void => {
    try {
      rmdirSync(entryDirectory(directory));
      send('\0');
    } catch {
      kill();
    }
  };
  let rest = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === 'entered') enter();
      else queue.takeLine(line);
    }
  });
  const ended = new Promise<void>((resolve) => {
    output.once('close', resolve);
  });
  const closed = ended.then(async () => {
    const said = await readFile(join(directory, 'log'), 'utf8').catch(() => '');
    const message = `the zone ended${said.trim() === '' ? '' : `: ${said.trim().split('\n').at(-1)}`}`;
    queue.lose(message, limits.explainEnd());
  });
  if (child.pid !== undefined) limits.watch(child.pid, (message) => queue.fail(new LimitReached(message)));
  const ready = queue.expect('ready');
  ready.catch(() => undefined);

  return {
    name: options.name,
    directory,
    ready,
    run: ({ slot, object, file, outputBase, reducer }) => {
      const ended = queue.expect(slot);
      if (queue.isOpen()) send(writeTask([slot, object, file, outputBase, reducer]));
      return ended;
    },
    takeBack: queue.takeBack,
    end: async () => {
      kill();
      await Promise.all([closed, exited]);
      await removeTree(directory);
    },
  };
}
