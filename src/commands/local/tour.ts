import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { command, type Context } from '../../cli/command.ts';
import { InterruptedError, LocalError } from '../../base/errors.ts';
import { createPaint, colourEnabled } from '../../output/colour.ts';
import { quoteShell } from '../../base/quote.ts';
import { removeFolder } from '../../base/remove-folder.ts';
import { makeTemporaryKey } from '../rsa-key.ts';
import { readRunFile } from './running.ts';

/** One step of the tour: its title, the command line as a user would type it, and a check of its output. */
interface Step {
  says: string;
  line: string;
  check?: (output: string) => boolean;
  /** Skipped if the service refuses jobs. */
  isJob?: true;
}

/** Files of several kinds that the tour stores and reads back. */
interface Samples {
  /** SHA-256 of the large file, hexadecimal. */
  digest: string;
}

const large = 'disk image.bin';
const odd = 'Grüße aus Köln – 寿司.txt';

/** Writes the sample files into a folder. */
export function makeSamples(folder: string): Samples {
  // 24 MiB of random bytes: compressible or repetitive content would hide errors.
  const content = randomBytes(24 * 1024 * 1024);
  writeFileSync(join(folder, large), content);
  writeFileSync(join(folder, 'notes.txt'), 'Stored by cloud local try.\n');
  writeFileSync(join(folder, 'empty'), '');
  writeFileSync(join(folder, odd), 'A name with spaces and letters beyond ASCII.\n');
  // A temporary key, made here because ssh-keygen may not be installed.
  writeFileSync(join(folder, 'laptop.pub'), `${makeTemporaryKey().openssh} laptop\n`);
  return { digest: createHash('sha256').update(content).digest('hex') };
}

/** The steps: the first starts the services, the last stops them. */
export function listSteps({ digest }: Samples): Step[] {
  const quoted = quoteShell(large);
  return [
    { says: 'Start both services on this machine', line: 'cloud local start --compute-port 0 --stor-port 0 -o name' },
    { says: 'Check that the services respond and accept the key', line: 'cloud ping' },
    { says: 'List images for Linux', line: 'cloud images list --os linux', check: (output) => output.includes('linux') },
    { says: 'List packages with 1 GiB of memory', line: 'cloud packages list --memory 1024' },
    { says: 'Register a second key', line: 'cloud keys create laptop.pub --name laptop' },
    { says: 'List both keys', line: 'cloud keys list', check: (output) => output.includes('laptop') },
    { says: 'Delete it', line: 'cloud keys delete laptop --yes' },
    { says: 'Check that it is deleted', line: 'cloud keys list', check: (output) => !output.includes('laptop') },
    { says: 'Create a directory', line: 'cloud stor mkdir -p photos/2024' },
    {
      says: 'Store files: text, 24 MiB of random bytes, an empty file, a name beyond ASCII',
      line: `cloud stor put notes.txt ${quoted} empty ${quoteShell(odd)} photos/2024`,
    },
    {
      says: 'List them',
      line: 'cloud stor ls photos/2024',
      check: (output) => [large, odd, 'empty'].every((name) => output.includes(name)),
    },
    { says: 'Print a text file', line: 'cloud stor cat photos/2024/notes.txt', check: (output) => output.startsWith('Stored by') },
    { says: 'Through a pipe: the digest of the file ...', line: `sha256sum ${quoted}`, check: (output) => output.startsWith(digest) },
    {
      says: '... and of the stored object',
      line: `cloud stor get ${quoteShell(`photos/2024/${large}`)} | sha256sum`,
      check: (output) => output.startsWith(digest),
    },
    {
      says: 'JSON for programs',
      line: `cloud stor stat ${quoteShell(`photos/2024/${odd}`)} -j`,
      check: (output) => output.includes('"size"'),
    },
    {
      says: 'Run a job on stored objects: count words',
      line: "cloud jobs run --map 'wc -w' photos/2024/notes.txt",
      check: (output) => output.trim() === '5',
      isJob: true,
    },
    { says: 'Stop the services', line: 'cloud local stop' },
  ];
}

/** Creates a home directory for the tour, so that it changes no file or profile of the user. */
function makeHome({ world }: Context): { folder: string; env: NodeJS.ProcessEnv } {
  const folder = mkdtempSync(join(tmpdir(), 'cloud-try-'));
  mkdirSync(join(folder, 'bin'));
  const script = join(folder, 'bin', 'cloud');
  writeFileSync(script, `#!/bin/sh\nexec ${quoteShell(world.executable)} ${quoteShell(world.program)} "$@"\n`);
  chmodSync(script, 0o755);
  const kept = Object.entries(world.env).filter(
    ([name]) => !/^(CLOUD_(?!LOCAL_ISOLATION$)|TRITON_|SDC_|MANTA_|XDG_|SSH_AUTH_SOCK)/.test(name),
  );
  return { folder, env: { ...Object.fromEntries(kept), HOME: folder, PATH: `${join(folder, 'bin')}:${world.env['PATH'] ?? ''}` } };
}

/** Runs a command line in a shell, prints its output as it comes, and returns its stdout. */
function runLine(
  line: string,
  folder: string,
  env: NodeJS.ProcessEnv,
  { world }: Context,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', line], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      world.stdout.stream.write(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      world.stderr.stream.write(chunk);
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}

export const tour = command({
  summary: 'Take a guided tour on temporary services',
  description:
    'Starts both services with data in a temporary folder, shows common tasks, checks the results and removes everything. Your profiles and files are not changed.',
  run: async (invocation) => {
    const { world } = invocation;
    // Read before anything is created: from then on a signal ends the tour gracefully.
    const { interrupted } = world;
    const paint = await createPaint(colourEnabled('auto', world.env, world.stdout.isTerminal));
    const { folder, env } = makeHome(invocation);
    const steps = listSteps(makeSamples(folder));
    let started = false;
    try {
      for (const { says, line, check, isJob } of steps) {
        const jobsOff = isJob && readRunFile(join(folder, '.local/share/cloud/local'))?.jobsOff;
        if (jobsOff !== undefined) {
          world.stdout.stream.write(`\n${paint.dim(`# Jobs are skipped: ${jobsOff}`)}\n`);
          continue;
        }
        world.stdout.stream.write(`\n${paint.dim(`# ${says}`)}\n${paint.bold(`$ ${line}`)}\n`);
        const { code, output } = await runLine(line, folder, env, invocation);
        started ||= line.includes('local start');
        // Ctrl-C reaches the command too, so that its exit code says nothing about the check.
        if (interrupted.aborted) throw new InterruptedError('interrupted');
        if (code !== 0) throw new LocalError(`"${line}" failed with exit code ${code ?? 'none'}`);
        if (check && !check(output)) throw new LocalError(`"${line}" did not print the expected output`);
        if (line === 'cloud local stop') started = false;
      }
    } finally {
      if (started) await runLine('cloud local stop', folder, env, invocation);
      await removeFolder(folder);
    }
    world.stdout.stream.write(`\n${paint.green('Everything works.')} To start services that keep running: cloud local start\n`);
    return undefined;
  },
  examples: [
    { line: 'cloud local try', help: 'Takes a few seconds' },
    { line: 'cloud local start', help: 'Then start services that keep running' },
  ],
});
