import { existsSync, lstatSync, openSync, readdirSync, readSync, renameSync, closeSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { quietly, UsageError } from '../../base/errors.ts';
import { removeQuietly } from '../../base/private-files.ts';
import { runProgram } from '../../base/run-program.ts';
import { isAlive } from '../../base/world.ts';
import { command, type Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { many, one, size } from '../../cli/parameters.ts';
import { settingNames, type SettingName } from '../../config/settings.ts';
import type { Recorder } from '../../server/recording/recorder.ts';
import { describeEnvironment } from './environment.ts';
import { makeFolder } from './scratch.ts';
import { countOf } from '../../base/count.ts';
import { removeFolder } from '../../base/remove-folder.ts';

/** Maximum size of a recorded response body without --body-limit, bytes. */
const usualLimit = 64 * 1024 * 1024;

/** Maximum of --body-limit, bytes: the body in base64 must fit into one string. */
const largestLimit = 256 * 1024 * 1024;

/** The first bytes of a recording. */
const beginning = '{"recording":';

/** @throws {UsageError} if the file exists and is not a recording: it would be overwritten */
function checkTarget(file: string): void {
  if (!existsSync(file)) return;
  const start = Buffer.alloc(beginning.length);
  if (lstatSync(file).isFile()) {
    const descriptor = openSync(file, 'r');
    readSync(descriptor, start);
    closeSync(descriptor);
  }
  if (start.toString() === beginning) return;
  throw new UsageError(`${file} exists and is not a recording; nothing was changed`, { hint: 'give another file, or delete it' });
}

/** Removes what killed runs left beside a recording. */
function removeLeftPartials(file: string, world: Context['world']): void {
  const start = `${basename(file)}.`;
  for (const name of quietly(() => readdirSync(dirname(file)), [])) {
    const [, pid] = name.startsWith(start) ? (/^(\d+)-[\da-f]{8}\.partial$/.exec(name.slice(start.length)) ?? []) : [];
    if (pid !== undefined && !isAlive(world, Number(pid))) removeQuietly(join(dirname(file), name));
  }
}

/** The settings for the program: those of the profile, to be combined with the addresses of the proxy. */
function describeSettings({ settings }: Context): Partial<Record<SettingName, string>> {
  const found = settings();
  const {
    profile: _,
    insecure: __,
    allowHttp: ___,
    ...values
  } = Object.fromEntries(settingNames.flatMap((name) => (found[name] === undefined ? [] : [[name, found[name].value]]))) as Partial<
    Record<SettingName, string>
  >;
  return values;
}

/** Runs a program that reaches the cloud through a proxy on this machine. */
async function runThrough(
  context: Context,
  folder: string,
  recorder: Recorder,
  [program = '', ...words]: readonly string[],
): Promise<number> {
  const [{ listen }, { listNames, prepareTls }] = await Promise.all([
    import('../../server/http/listen.ts'),
    import('../../server/http/certificates.ts'),
  ]);
  const { world, note } = context;
  const tls = await prepareTls(join(folder, 'tls'), listNames(), world.now());
  const sockets = { tls, host: '127.0.0.1', port: 0, log: note };
  const compute = await listen({ ...sockets, handle: recorder.forward('compute') });
  const storage = await listen({ ...sockets, handle: recorder.forward('storage') });
  try {
    const values = { ...describeSettings(context), url: compute.url, storUrl: storage.url, ca: tls.caFile };
    return await runProgram(program, words, describeEnvironment(world, values, folder), world);
  } finally {
    await Promise.all([compute.close(0), storage.close(0)]);
  }
}

export const record = command({
  summary: 'Record the requests of a program and the responses of a cloud',
  description:
    'Runs the program through a proxy on this machine to the cloud of the profile; requests keep their signatures. FILE gets one line of JSON for each exchange and is readable only by its owner. Signatures, passwords and private keys are omitted; object contents are not, so record with test data. cloud local run --replay and cloud local start --replay respond from the file, without a cloud. The exit code is that of the program.',
  arguments: {
    file: one('File for the recording; an existing one is replaced, unless the program fails and nothing is recorded', { values: 'file' }),
    command: many('Program and its arguments, after --'),
  },
  usage: 'FILE -- COMMAND [ARGUMENT...]',
  options: {
    bodyLimit: size('Omit response bodies above this size; 64M by default', { range: [0, largestLimit] }),
  },
  run: async (invocation) => {
    const { args, options, world, paths, note, warn, account } = invocation;
    const file = resolvePath(world, args.file);
    checkTarget(file);
    removeLeftPartials(file, world);
    const upstreams = { compute: invocation.forward('compute'), storage: invocation.forward('storage') };
    const { createRecorder } = await import('../../server/recording/recorder.ts');
    const folder = await makeFolder(paths, world, 'recordings');
    const partial = `${file}.${world.pid}-${randomUUID().slice(0, 8)}.partial`;
    try {
      const recorder = createRecorder({
        file: partial,
        header: {
          recording: 1,
          account,
          computeUrl: upstreams.compute.url.origin,
          storUrl: upstreams.storage.url.origin,
          time: new Date(world.now()).toISOString(),
        },
        upstreams,
        bodyLimit: options.bodyLimit ?? usualLimit,
        log: warn,
      });
      let exitCode: number;
      let recorded: { exchanges: number; failed: number };
      try {
        exitCode = await runThrough(invocation, folder, recorder, args.command);
      } finally {
        recorded = await recorder.close();
      }
      const { exchanges, failed } = recorded;
      if (exchanges === 0 && exitCode !== 0 && existsSync(file))
        warn(`the program failed and nothing was recorded: ${args.file} keeps the earlier recording`);
      else {
        renameSync(partial, file);
        note(`Recorded ${countOf(exchanges, 'exchange')} in ${args.file}`);
      }
      if (failed > 0)
        warn(`${countOf(failed, 'request')} got no response from the cloud and ${failed === 1 ? 'is' : 'are'} not in the recording`);
      return { kind: 'none', exitCode };
    } finally {
      removeQuietly(partial);
      await removeFolder(folder);
    }
  },
  examples: [
    { line: 'cloud local record suite.jsonl -- npm test', help: 'Against the cloud of the current profile' },
    { line: 'cloud local run --replay suite.jsonl -- npm test', help: 'The same without the cloud' },
    {
      line: 'cloud --profile lab local record lab.jsonl --body-limit 1M -- ./check',
      help: 'Another cloud, without large objects in the file',
    },
  ],
});
