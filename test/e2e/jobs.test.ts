import { execFileSync } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { usualIsolation } from '../support/job-sandboxes.ts';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { openTerminal } from '../support/terminal.ts';
import { useShared } from '../support/shared-service.ts';

interface Job {
  id: string;
  name: string;
  state: string;
  cancelled: boolean;
  inputDone: boolean;
  phases: { type?: string; exec: string }[];
  stats: { errors: number; outputs: number; tasks: number; tasksDone: number };
}

const user = useShared('--http');
const logs = { 'a.txt': 'ERROR one\nfine\n', 'b.txt': 'ERROR two\nERROR three\nfine\n', 'odd 100% name.txt': 'fine\n' };
const script = 'echo "$(wc -l) lines of $(basename "$MANTA_INPUT_OBJECT")"\n';

beforeAll(async () => {
  for (const [name, content] of Object.entries({ ...logs, 'count.sh': script })) user.write(name, content);
  await user.here(['stor', 'mkdir', '-p', 'logs/older']);
  const put = await user.here(['stor', 'put', ...Object.keys(logs), 'count.sh', 'logs/']);
  if (put.code !== 0) throw new Error(put.stderr);
});

/** Runs a job and says how it ended and what it printed. */
async function run(...words: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await user.here(['jobs', 'run', ...words]);
  return { code, stdout, stderr };
}

/** Each poll starts `ps`: few of them. */
const slowly = { interval: 150 };

/** Processes with just this command line; ps is the witness. */
function countProcesses(line: string): number {
  const lines = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split('\n');
  return lines.filter((each) => each.trim() === line).length;
}

const idIn = (stderr: string): string => /job ([0-9a-f-]{36})/.exec(stderr)?.[1] ?? '';

test('word count of a pattern: the outputs come in the order of the inputs, names with spaces and % included', async () => {
  const { code, stdout, stderr } = await run('--map', 'wc -w', 'logs/*.txt');
  expect([code, stdout.split('\n').map((line) => line.trim())]).toEqual([0, ['3', '5', '1', '']]);
  expect(stderr).toMatch(/^Created job [0-9a-f-]{36}\nJob [0-9a-f-]{36} done in [^:]+: 3 outputs, 0 errors\n$/);
});

test('grep with a reduce that sums; two reducers share the inputs: two outputs', async () => {
  const sum = "awk '{s+=$1} END {print s}'";
  const [summed, shared] = await Promise.all([
    run('--map', 'grep -c ERROR', '--reduce', sum, 'logs/a.txt', 'logs/b.txt'),
    run('--reduce', 'wc -l', '--count', '2', 'logs/a.txt', 'logs/b.txt'),
  ]);
  expect(summed).toMatchObject({ code: 0, stdout: '3\n' });
  const counts = shared.stdout.trim().split(/\s+/).map(Number);
  expect([shared.code, counts.toSorted((a, b) => a - b)], 'two reducers').toEqual([0, [2, 3]]);
});

test('several outputs of a task are printed in their order, input by input; named ones are objects; a chain of three phases', async () => {
  const map =
    'head -n 1 | mpipe; mpipe -f "$MANTA_INPUT_FILE"; echo end | mpipe; wc -l <"$MANTA_INPUT_FILE" | mtee -p "~~/stor/lines/${MANTA_INPUT_OBJECT##*/}"';
  const { code, stdout, stderr } = await run('--map', map, 'logs/a.txt', 'logs/b.txt');
  const expected = [logs['a.txt'], logs['b.txt']].map((text) => `${text.split('\n')[0]}\n${text}end\n`).join('');
  expect([code, stdout], stderr).toEqual([0, expected]);
  expect((await user.here(['stor', 'cat', 'lines/b.txt'])).stdout.trim()).toBe('3');
  const summed = await run(
    '--map',
    'cut -d " " -f 1 | sed "s/$/ 1/" | msplit -d " " -n 2',
    '--reduce',
    'maggr -c1=key sum',
    '--count',
    '2',
    '--reduce',
    'sort',
    'logs/a.txt',
    'logs/b.txt',
  );
  expect([summed.code, summed.stdout], `a chain of three phases: ${summed.stderr}`).toEqual([0, 'ERROR 3\nfine 2\n']);
});

test('a script of the user as an asset, which is at /assets too where the sandbox has a root of its own', async () => {
  const line = 'bash "$MANTA_ASSETS/demo/stor/logs/count.sh"; bash /assets/demo/stor/logs/count.sh <"$MANTA_INPUT_FILE" 2>/dev/null; true';
  const { code, stdout } = await run('--map', line, '--asset', 'logs/count.sh', 'logs/b.txt', 'logs/odd 100% name.txt');
  const lines = ['3 lines of b.txt\n', '1 lines of odd 100% name.txt\n'];
  expect([code, stdout]).toEqual([0, lines.map((each) => each.repeat(usualIsolation() === 'none' ? 1 : 2)).join('')]);
});

test('some inputs fail: the others are printed, the failures are told with what the task wrote, exit code 5', async () => {
  const line = 'grep ERROR || { echo "nothing here" >&2; exit 3; }';
  const { code, stdout, stderr } = await run('--map', line, 'logs/*.txt', 'logs/missing');
  expect([code, stdout]).toEqual([5, 'ERROR one\nERROR two\nERROR three\n']);
  expect(stderr).toContain(
    'phase 0: /demo/stor/logs/odd 100% name.txt: user command exited with code 3 (UserTaskError)\n  | nothing here\n',
  );
  expect(stderr).toMatch(/phase 0: \/demo\/stor\/logs\/missing: .* \(EJ_NOENT\)\n/);
  expect(stderr).toMatch(/cloud jobs run .*: 2 of 4 inputs failed\nhint: cloud jobs errors [0-9a-f-]{36} --stderr\n$/);
  const id = idIn(stderr);
  const [failed, errors, told] = await Promise.all([
    user.here(['jobs', 'failures', id, '-o', 'name']),
    user.json<{ code: string; stderrText?: string }[]>('jobs', 'errors', id, '--stderr'),
    user.here(['jobs', 'errors', id, '--stderr']),
  ]);
  expect(failed.stdout.trim().split('\n').toSorted()).toEqual(['/demo/stor/logs/missing', '/demo/stor/logs/odd 100% name.txt']);
  expect(errors.find((error) => error.code === 'UserTaskError')?.stderrText).toBe('nothing here\n');
  expect(told.stdout).toContain('  | nothing here\n');
});

test('with -j there is a record for the job, each output and each error, and stderr is JSON lines', async () => {
  const map =
    'case $MANTA_INPUT_OBJECT in */a.txt) echo one;; */b.txt) printf "\\377"; echo "nothing here" >&2; exit 3;; *) printf "\\377";; esac';
  const { code, stdout, stderr } = await run('--map', map, 'logs/*.txt', '-o', 'jsonl');
  expect(code).toBe(5);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const path = expect.stringMatching(/^\/demo\/jobs\/.*\/stor\//) as string;
  expect(rows).toEqual([
    expect.objectContaining({ type: 'job', state: 'done', id: expect.any(String) as string }),
    { type: 'output', path, size: 4, content: 'one\n' },
    { type: 'output', path, size: 1 },
    expect.objectContaining({ type: 'error', code: 'UserTaskError', input: '/demo/stor/logs/b.txt', stderrText: 'nothing here\n' }),
  ]);
  const said = stderr
    .trim()
    .split('\n')
    .map((line) => Object.keys(JSON.parse(line) as object)[0]);
  expect(said).toEqual(['note', 'note', 'code']);
});

test('an output that a task named and nobody created is told; the other outputs and the failed inputs follow', async () => {
  const map = 'case $MANTA_INPUT_OBJECT in */a.txt) mcat /demo/stor/nowhere;; */b.txt) exit 3;; *) echo last;; esac';
  const [printed, told] = await Promise.all([run('--map', map, 'logs/*.txt'), run('--map', map, 'logs/*.txt', '-o', 'jsonl', '-q')]);
  const listed = await user.here(['jobs', 'outputs', idIn(printed.stderr), '--cat']);
  expect([printed.code, printed.stdout, listed.code, listed.stdout]).toEqual([5, 'last\n', 5, 'last\n']);
  expect(printed.stderr).toContain('/demo/stor/nowhere does not exist');
  expect(printed.stderr).toContain('1 of 3 inputs failed');
  expect(listed.stderr).toContain('1 of 2 outputs cannot be read');
  const types = told.stdout.match(/(?<="type":")(job|output|error)/gu);
  expect([told.code, types]).toEqual([5, ['job', 'output', 'error']]);
});

test('records of a job have the paths for -o name, and no content of more than 1 MiB', async () => {
  const { code, stdout } = await run('--map', 'head -c 2000000 /dev/zero', 'logs/a.txt', '-j', '-q');
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    [expect.objectContaining({ type: 'job' }), { type: 'output', path: expect.any(String) as string, size: 2_000_000 }],
  ]);
  expect((await run('--map', 'echo one', 'logs/a.txt', '-o', 'name')).stdout).toMatch(/^\/demo\/jobs\/[^\n]*\n$/);
});

test('of a task that wrote too much to stderr the end is told', async () => {
  const line = `head -c 17000000 /dev/zero | tr '\\0' x >&2; seq 1 30 >&2; echo 'the reason' >&2; exit 1`;
  const { code, stderr } = await run('--map', line, 'logs/a.txt', '-q');
  expect([code, stderr.length < 5000]).toEqual([1, true]);
  expect(stderr).toMatch(/^phase 0: .*\n {2}\| \.\.\. more before\n(?: {2}\| \d+\n){19} {2}\| the reason\n/u);
});

test('all inputs fail: exit code 1; a failing init, a command that dumps core, a directory', async () => {
  const [init, core, directory] = await Promise.all([
    run('--map', 'wc', '--init', 'echo no network >&2; false', 'logs/a.txt'),
    run('--map', 'kill -ABRT $$', 'logs/a.txt'),
    run('--map', 'wc', 'logs'),
  ]);
  expect([init.code, init.stdout]).toEqual([1, '']);
  expect(init.stderr).toMatch(/init command exited with code 1 \(TaskInitError\)\n {2}\| no network\n/);
  expect([core.code, core.stderr.includes('user command terminated by SIGABRT (UserTaskError)')]).toEqual([1, true]);
  expect(directory.stderr).toContain('phase 0: /demo/stor/logs: a directory, not an object: "/demo/stor/logs" (EJ_NOENT)\n');
  expect([directory.code, directory.stderr.includes('1 of 1 input failed')]).toEqual([1, true]);
});

test('a sub-user runs a job with its own roles, and reads what comes out; an input that it may not read is EJ_ACCES', async () => {
  writeRsaKeyFile(join(user.home, 'bob'), { pem: true });
  const rule = 'CAN createjob, addjobinputs, endjobinput, getjob, getjoboutput, getjoberrors, getjobinput, getjobfailures AND getobject';
  const steps = [
    'echo Pass-word-1234 | cloud users create bob --email bob@example.com --password-stdin',
    'cloud users keys create bob bob.pub',
    `cloud policies create jobs --rule '${rule}'`,
    'cloud roles create runner --member bob --default-member bob --policy jobs',
    "cloud stor roles add '~~/jobs' runner",
    'cloud stor roles add logs/b.txt runner',
  ];
  expect(await user.line(steps.join(' && '))).toMatchObject({ code: 0 });
  const asBob = ['--user', 'bob', '--key-file', 'bob'];
  const { code, stdout, stderr } = await run('--map', 'cat', '--map', 'grep -c ERROR', 'logs/a.txt', 'logs/b.txt', ...asBob);
  expect([code, stdout]).toEqual([5, '2\n']);
  expect(stderr).toMatch(/phase 0: \/demo\/stor\/logs\/a.txt: .* \(EJ_ACCES\)\n/);
  const failed = await run('--map', 'echo why >&2; exit 3', 'logs/b.txt', ...asBob);
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('exited with code 3 (UserTaskError)\n  | why\n')]);
});

test('a binary input goes through a job byte for byte', async () => {
  const content = randomBytes(5_000_000);
  user.write('large.bin', content);
  await user.here(['stor', 'put', 'large.bin', 'large.bin']);
  const { code, bytes } = await user.here(['jobs', 'run', '--map', 'cat', 'large.bin']);
  expect(code).toBe(0);
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(createHash('sha256').update(content).digest('hex'));
});

test('inputs through a pipe, a job without inputs, and errors before anything is created', async () => {
  const [piped, none, nothing, phaseless] = await Promise.all([
    user.shell(`printf 'logs/a.txt\\n~~/stor/logs/b.txt\\n' | cloud jobs run --reduce 'wc -l'`),
    run('--reduce', 'echo "$(wc -c) bytes"'),
    run('--map', 'wc', 'logs/*.nothing'),
    run('logs/a.txt'),
  ]);
  expect([piped.code, piped.stdout.trim()]).toEqual([0, '5']);
  expect(none).toMatchObject({ code: 0, stdout: '0 bytes\n' });
  expect(nothing).toMatchObject({ code: 3, stdout: '' });
  expect([phaseless.code, phaseless.stderr.split('\n')[0]]).toEqual([
    2,
    'cloud jobs run logs/a.txt: the job has no phase: neither --map nor --reduce is given',
  ]);
});

test('a pattern stands for objects: directories that fit are left out, with a word about it', async () => {
  const [some, only] = await Promise.all([
    run('--glob', '--map', 'basename "$MANTA_INPUT_OBJECT"', 'logs/[ao]*'),
    run('--map', 'wc', 'log?'),
  ]);
  expect([some.code, some.stdout], some.stderr).toEqual([0, 'a.txt\nodd 100% name.txt\n']);
  expect(some.stderr).toMatch(/^logs\/\[ao\]\*: skipped a directory: inputs of a job are objects\nCreated job /);
  expect([only.code, only.stderr.split('\n').slice(0, 2)]).toEqual([
    3,
    ["cloud jobs run --map wc 'log?': log? matches only a directory: inputs of a job are objects", "hint: to add their entries: 'log?/*'"],
  ]);
});

test('at a terminal a watched job has a bar in the last line, and the terminal is left as it was', async () => {
  const id = (await user.here(['jobs', 'create', '--name', 'drawn', '--map', 'cat; sleep 0.2', '-o', 'name'])).stdout.trim();
  await user.here(['jobs', 'add', id, 'logs/a.txt', 'logs/none']);
  const line = `trap : INT; stty -g > before; cloud jobs watch ${id}; echo "code $?"; stty -g > after; diff before after`;
  const left = openTerminal(line, { env: user.env, cwd: user.home });
  await left.until(/█{24} 100% {2}2 of 2 tasks done.*1 error.*input open/);
  left.type('\u0003');
  expect(await left.end()).toMatchObject({ code: 0, text: expect.stringContaining('code 130') });
  const stayed = openTerminal(line, { env: user.env, cwd: user.home });
  await stayed.until(/error: /);
  await user.here(['jobs', 'end', id]);
  expect(await stayed.end()).toMatchObject({ code: 0, text: expect.stringMatching(/done in [^\n]*: 1 output, 1 error\ncode 0\n$/) });
});

test('a job step by step: create, add, watch, end, wait, outputs; found by name', async () => {
  const created = await user.cloud(['jobs', 'create', '--name', 'steps', '--map', 'wc -l', '-o', 'name']);
  const id = created.stdout.trim();
  expect([created.code, id]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  expect((await user.cloud(['jobs', 'add', 'steps', 'logs/a.txt'])).stderr).toBe(`Added 1 input to job ${id}\n`);
  const watching = user.cloud(['jobs', 'watch', id, '-o', 'jsonl']);
  const following = user.cloud(['jobs', 'outputs', 'steps', '--follow', '--cat']);
  expect((await user.cloud(['jobs', 'add', id, '-'], { input: 'logs/b.txt\nlogs/none\n' })).code).toBe(0);
  expect((await user.cloud(['jobs', 'end', id.slice(0, 13)])).stderr).toBe(`Ended the input of job ${id}\n`);
  const waited = await user.cloud(['jobs', 'wait', 'steps']);
  expect([waited.code, waited.stderr.includes('1 of 3 inputs failed')]).toEqual([5, true]);
  expect((await following).stdout.trim().split('\n').toSorted()).toEqual(['2', '3']);
  const events = (await watching).stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { event: string }).event);
  expect([events[0], events.at(-1), events.includes('error')]).toEqual(['job', 'done', true]);
  expect((await user.here(['jobs', 'watch', id])).stdout).toMatch(
    /^job .* "steps"\n {2}phase 0: map: wc -l\nerror: .*\ndone in .*: 2 outputs, 1 error\n$/,
  );
  expect((await user.here(['jobs', 'inputs', id, '-o', 'name'])).stdout).toBe(
    '/demo/stor/logs/a.txt\n/demo/stor/logs/b.txt\n/demo/stor/logs/none\n',
  );
  const paths = (await user.here(['jobs', 'outputs', id, '-o', 'name'])).stdout.trim().split('\n');
  expect(paths.every((path) => path.startsWith(`/demo/jobs/${id}/stor/`))).toBe(true);
  const job = await user.json<Job>('jobs', 'get', 'steps');
  expect(job).toMatchObject({ id, name: 'steps', state: 'done', cancelled: false, inputDone: true, stats: { errors: 1, outputs: 2 } });
  const listed = await user.json<Job[]>('jobs', 'list', '--name', 'steps', '--state', 'done');
  expect(listed.map((each) => each.id)).toEqual([id]);
  // The table says what each job does.
  expect((await user.here(['jobs', 'list', '--name', 'steps'])).stdout).toMatch(/^ID .* DOES\n\S+ +steps +done .* wc -l\n$/);
  const [first, second] = (await user.here(['jobs', 'get', 'steps', id, '-o', 'name'])).stdout.trim().split('\n');
  expect([first, second]).toEqual([id, id]);
  const refused = await user.here(['jobs', 'add', id, 'logs/a.txt']);
  expect([refused.code, refused.stderr.includes('InvalidJobState')]).toEqual([1, true]);
});

test('get -o yaml goes back into create --from; a typo is answered with the nearest field', async () => {
  const words = [
    '--name',
    'twin',
    '--map',
    "grep -v '#' | wc -l",
    '--init',
    'true',
    '--memory',
    '256',
    '--reduce',
    'sort -n\nuniq -c',
    '--count',
    '2',
  ];
  await user.here(['jobs', 'create', ...words]);
  const yaml = await user.here(['jobs', 'get', 'twin', '-o', 'yaml']);
  const again = await user.here(['jobs', 'create', '--from', '-', '--name', 'other', '-o', 'name'], { input: yaml.stdout });
  expect(again.code).toBe(0);
  const [first, second] = await Promise.all([user.json<Job>('jobs', 'get', 'twin'), user.json<Job>('jobs', 'get', again.stdout.trim())]);
  expect([second.phases, second.name]).toEqual([first.phases, 'other']);
  user.write('typo.yaml', 'phases:\n  - exce: wc\n');
  const typo = await user.here(['jobs', 'create', '--from', 'typo.yaml']);
  expect([typo.code, typo.stderr]).toEqual([
    2,
    'cloud jobs create --from typo.yaml: typo.yaml: phases[0].exce: is not a known field\nhint: did you mean exec?\n',
  ]);
});

test('cancel ends a job with the grandchildren of its tasks; cancelling twice, an unknown job and a bad phase are one clear line each', async () => {
  const waiting = `sleep ${process.pid}.4716`;
  const exec = `setsid ${waiting} & (${waiting}; true) & ${waiting}`;
  const { stdout } = await user.here(['jobs', 'run', '--map', exec, 'logs/a.txt', '--detach', '-o', 'name']);
  const id = stdout.trim();
  await expect.poll(() => countProcesses(waiting), slowly).toBe(3);
  const rehearse = async (verb: string): Promise<string> => (await user.here(['jobs', verb, id, '--dry-run'])).stderr;
  expect([await rehearse('end'), await rehearse('cancel')]).toEqual([`Nothing to do for job ${id}\n`, `Would cancel job ${id}\n`]);
  expect((await user.json<Job>('jobs', 'get', id)).cancelled).toBe(false);
  expect((await user.here(['jobs', 'cancel', id])).stderr).toBe(`Cancelled job ${id}\n`);
  await expect.poll(() => countProcesses(waiting), slowly).toBe(0);
  await expect.poll(async () => (await user.json<Job>('jobs', 'get', id)).state).toBe('done');
  expect((await user.json<Job>('jobs', 'get', id)).cancelled).toBe(true);
  expect((await user.here(['jobs', 'list'])).stdout).toMatch(new RegExp(`^${id} .* done +yes `, 'mu'));
  const [twice, waited] = await Promise.all([user.here(['jobs', 'cancel', id]), user.here(['jobs', 'wait', id])]);
  expect([twice.code, twice.stderr.includes('InvalidJobState'), twice.stderr.trim().split('\n').length]).toEqual([1, true, 1]);
  expect([waited.code, waited.stderr.includes(`job ${id} was cancelled`)]).toEqual([1, true]);
  const nobody = '00000000-0000-4000-8000-000000000000';
  const [empty, bad, ...strangers] = await Promise.all([
    user.here(['jobs', 'create', '--from', '-'], { input: 'phases: [{ exec: "" }]' }),
    user.here(['jobs', 'create', '--map', 'wc', '--count', '2']),
    ...[['get'], ['cancel'], ['outputs'], ['add', 'logs/a.txt']].map(([verb = '', ...rest]) => user.here(['jobs', verb, nobody, ...rest])),
  ]);
  for (const { code, stderr } of strangers) expect([code, stderr]).toEqual([3, expect.stringContaining(`job ${nobody} does not exist`)]);
  expect([empty.code, empty.stderr]).toEqual([1, expect.stringMatching(/phases\[0\]\.exec .* \(InvalidJob, request [^)]*\)\n$/)]);
  expect([bad.code, bad.stderr.split('\n')[0]]).toEqual([2, expect.stringContaining('--count belongs to a reduce phase')]);
});

/** Runs a line until it has said something on stderr, then interrupts it. */
async function interrupt(line: string, word: string): Promise<{ code: number; stderr: string }> {
  const said = `said-${randomUUID()}`;
  // `read` waits without a process.
  const look = `exec 9<> <(:); until [[ $(<${said}) == *"${word}"* ]]; do read -r -t 0.05 -u 9 _; done`;
  const script = `: >${said}; ${line} 2>${said} & child=$!; ${look}; kill -INT $child; wait $child; echo $?`;
  const { stdout } = await user.shell(script);
  return { code: Number(stdout), stderr: readFileSync(join(user.home, said), 'utf8') };
}

test('failures are told while the job runs; Ctrl-C leaves it alone and says how to go on', async () => {
  const exec = 'grep -q two || { echo why >&2; exit 3; }; sleep 1000';
  const [running, feeding] = await Promise.all([
    interrupt(`cloud jobs run --map '${exec}' logs/a.txt logs/b.txt`, '| why'),
    interrupt('cloud jobs run --map cat - < <(echo logs/a.txt; sleep 2)', 'Created job'),
  ]);
  const [id, open] = [idIn(running.stderr), idIn(feeding.stderr)];
  expect(running).toEqual({ code: 130, stderr: expect.stringContaining(`stopped waiting: job ${id} continues`) });
  expect(running.stderr).toContain('phase 0: /demo/stor/logs/a.txt: user command exited with code 3 (UserTaskError)\n  | why\n');
  expect(running.stderr).toContain(`cloud jobs wait ${id}`);
  expect(feeding).toEqual({ code: 130, stderr: expect.stringContaining(`job ${open} still waits for inputs`) });
  const [waited] = await Promise.all([user.here(['jobs', 'wait', id, '--wait-timeout', '1s']), user.here(['jobs', 'end', open])]);
  expect([waited.code, waited.stderr.includes('is not done after 1s')]).toEqual([6, true]);
  const [cancelled, done] = await Promise.all([user.here(['jobs', 'cancel', id, '--wait']), user.here(['jobs', 'wait', open])]);
  expect([cancelled.code, done.code]).toEqual([0, 0]);
});

test('many failures: the first ten are told, the others counted', async () => {
  const paths = Array.from({ length: 13 }, (_, at) => `none/${at}\n`).join('');
  const { code, stderr } = await user.here(['jobs', 'run', '--map', 'wc'], { input: paths });
  expect([code, stderr.split('\n').filter((line) => line.includes('(EJ_NOENT)')).length]).toEqual([1, 10]);
  expect(stderr).toMatch(/\n\.\.\. and 3 more: cloud jobs errors [0-9a-f-]{36} --stderr\n/);
});

test('a job without output says so, also if only some inputs failed', async () => {
  await user.shell('printf 1 > some; printf 2 > other; cloud stor put -q some left; cloud stor put -q other right');
  const run = await user.here(['jobs', 'run', '--map', 'grep 1', '--reduce', 'exit 3', 'left', 'right', '-q']);
  expect([run.code, run.stdout, run.stderr]).toEqual([1, '', expect.stringMatching(/: no output: \d of 2 inputs failed\n/)]);
});

test('an input that fails as several objects of a later phase is counted once', async () => {
  await user.shell('printf 1 > some; : > none; cloud stor put -q some counted; cloud stor put -q none blank');
  const split = 'if [ -s "$MANTA_INPUT_FILE" ]; then for n in 1 2 3; do echo $n | mpipe; done; else echo ok; fi';
  const { code, stdout, stderr } = await user.here(['jobs', 'run', '--map', split, '--map', 'grep ok', 'counted', 'blank']);
  expect([code, stdout, stderr]).toEqual([5, 'ok\n', expect.stringContaining(': 1 of 2 inputs failed\n')]);
  const [, id = ''] = /^Created job (\S+)/u.exec(stderr) ?? [];
  expect((await user.here(['jobs', 'failures', id, '-o', 'name'])).stdout).toBe('/demo/stor/counted\n');
  const waited = await user.here(['jobs', 'wait', id, '-q']);
  expect([waited.code, waited.stderr]).toEqual([5, expect.stringContaining(': 1 of 2 inputs failed\n')]);
});

test('add, end, cancel and wait show the jobs in a requested format, those with failed inputs included', async () => {
  const create = async (exec: string): Promise<string> => (await user.here(['jobs', 'create', '--map', exec, '-o', 'name'])).stdout.trim();
  const [good, bad, open] = [await create('cat'), await create('cat'), await create('cat')];
  expect(await user.json('jobs', 'add', good, 'logs/a.txt')).toMatchObject({ id: good, inputDone: false });
  expect(await user.json('jobs', 'add', bad, 'logs/a.txt', 'logs/none', '--end')).toMatchObject({ id: bad, inputDone: true });
  expect((await user.here(['jobs', 'end', good, bad, '--dry-run', '-o', 'name'])).stdout).toBe(`${good}\n`);
  const ended = await user.here(['jobs', 'end', good, 'nosuch', '-j']);
  expect([ended.code, JSON.parse(ended.stdout)]).toEqual([5, [expect.objectContaining({ id: good, inputDone: true })]]);
  const some = await user.here(['jobs', 'wait', good, 'nosuch', bad, '-o', 'name']);
  expect([some.code, some.stdout, some.stderr]).toEqual([5, `${good}\n${bad}\n`, expect.stringContaining('2 of 3 failed')]);
  const failed = await user.here(['jobs', 'wait', bad, '-j']);
  expect([failed.code, JSON.parse(failed.stdout)]).toEqual([
    5,
    expect.objectContaining({ id: bad, state: 'done', stats: expect.anything() as object }),
  ]);
  expect(failed.stderr).toContain('1 of 2 inputs failed');
  expect((await user.here(['jobs', 'wait', bad])).stdout).toBe('');
  for (const line of [`add ${open} logs/a.txt`, `end ${open}`, `cancel ${open}`]) {
    const refused = await user.here(['jobs', ...line.split(' '), '--columns', 'nosuch']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/^cloud jobs [^\n]*: --columns: no field "nosuch"\n/)]);
  }
  expect(await user.json('jobs', 'cancel', open, '--dry-run')).toMatchObject([{ id: open, cancelled: false }]);
  expect(await user.json('jobs', 'cancel', open, '--wait')).toMatchObject([{ id: open, cancelled: true, state: 'done' }]);
  expect(await user.json('jobs', 'cancel', open, '--dry-run')).toEqual([]);
});
