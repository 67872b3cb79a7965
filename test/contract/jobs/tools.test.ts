import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Phase } from '../../../src/api/objects.ts';
import { addUser, signHeaders } from '../../support/service.ts';
import { createTestJobs, type Outcome, type TestJobs } from './harness.ts';

/** mcat, mpipe, msplit, mtee and maggr in tasks, in the sandbox of this machine. */

let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs();
  await service.put('/demo/stor/a', 'a 1\nb 2\n');
  await service.put('/demo/stor/b', 'a 3\nc 4\n');
  await service.put('/demo/stor/list', '~~/stor/a\n/demo/stor/b\n');
});
afterAll(() => service.close());

const both = ['/demo/stor/a', '/demo/stor/b'];
const reduce = (exec: string, count = 1): Phase => ({ type: 'reduce', exec, count });
const messages = ({ errors }: Outcome): unknown[] => errors.map(({ code, message }) => [code, message]);
const read = async (path: string): Promise<string> => (await service.ask('GET', path)).text;

describe('mpipe', () => {
  test('makes as many outputs as there are calls, in their order, and takes the place of stdout', async () => {
    const exec = 'echo not this; for n in 1 2 3; do echo $n | mpipe; done; echo nor this';
    const { id, contents, outputs, job } = await service.run([{ exec }], ['/demo/stor/a']);
    expect(contents).toEqual(['1\n', '2\n', '3\n']);
    expect(job.stats).toMatchObject({ outputs: 3, tasks: 1 });
    for (const output of outputs) expect(output).toMatch(new RegExp(`^/demo/jobs/${id}/stor/demo/stor/a\\.0\\.[0-9a-f-]{36}$`, 'u'));
    const piped = await service.run([{ exec: 'wc -l | mpipe' }, reduce('cat')], both);
    expect(piped.contents.map((text) => text.trim().split(/\s+/u))).toEqual([['2', '2']]);
  });

  test('names an output, with headers, over what is there, in directories that -p makes', async () => {
    await service.put('/demo/stor/named', 'old');
    const exec =
      'cat | mpipe -H "content-type: text/x-mine" -H "m-note: yes" ~~/stor/named; mpipe -p -f "$MANTA_INPUT_FILE" ~~/stor/new/deep/copy';
    const outcome = await service.run([{ exec }], ['/demo/stor/a']);
    expect([messages(outcome), outcome.outputs]).toEqual([[], ['/demo/stor/named', '/demo/stor/new/deep/copy']]);
    const { headers, text } = await service.ask('GET', '/demo/stor/named');
    expect([text, headers['content-type'], headers['m-note']]).toEqual(['a 1\nb 2\n', 'text/x-mine', 'yes']);
    expect(await read('/demo/stor/new/deep/copy')).toBe('a 1\nb 2\n');
    expect(await service.countContents()).toBeLessThan(20);
  });

  test('named outputs go on to the next phase, and stay when the job is done', async () => {
    const { contents } = await service.run([{ exec: 'cat | mpipe "$MANTA_INPUT_OBJECT.copy"' }, reduce('sort')], both);
    expect(contents).toEqual(['a 1\na 3\nb 2\nc 4\n']);
    expect(await read('/demo/stor/a.copy')).toBe('a 1\nb 2\n');
  });

  test('routes an output to a reducer', async () => {
    const exec = 'read -r letter number; echo $letter | mpipe -r 2; echo $number | mpipe -r 0';
    const { contents } = await service.run([{ exec }, reduce('echo $MANTA_REDUCER $(sort)', 3)], both);
    expect(contents.toSorted()).toEqual(['0 1 3\n', '1\n', '2 a a\n']);
  });

  test.each([
    ['echo x | mpipe ~~/stor/none/x', 'ResourceNotFoundError', '/demo/stor/none does not exist'],
    ['echo x | mpipe /demo/stor', 'UserTaskError', '/demo/stor is fixed'],
    ['echo x | mpipe /other/stor/x', 'AuthorizationError', 'is not allowed to access /other/stor/x (putobject)'],
    ['echo x | mpipe ~~/jobs/$MANTA_JOB_ID/out.txt', 'UserTaskError', 'is written by the service when the job is done'],
    ['echo x | mpipe ~~/stor/a/b', 'UserTaskError', '/demo/stor/a is not a directory'],
    ["echo x | mpipe $'~~/stor/two\\nlines'", 'UserTaskError', 'without line breaks'],
    ['echo x | mpipe -c 9 ~~/stor/x', 'UserTaskError', 'durability-level is "9"'],
  ])('that cannot be stored fails the task alone: %s', async (exec, code, words) => {
    const { errors, contents } = await service.run([{ exec: `grep -q c || { ${exec}; exit; }; echo fine` }], both);
    expect(errors.map((error) => [error.code, error.input])).toEqual([[code, '/demo/stor/a']]);
    expect(errors[0]?.message).toContain(words);
    expect(contents).toEqual(['fine\n']);
  });

  test('a task that fails leaves nothing of what it piped', async () => {
    const { errors, outputs } = await service.run([{ exec: 'echo x | mpipe ~~/stor/never; exit 3' }], ['/demo/stor/a']);
    expect([errors.length, outputs, (await service.ask('HEAD', '/demo/stor/never')).status]).toEqual([1, [], 404]);
  });
});

describe('mcat', () => {
  test('emits objects by their names: of this phase nothing is read', async () => {
    const { contents, errors, failures } = await service.run(
      [{ exec: 'xargs mcat; mcat ~~/stor/none' }, { exec: 'wc -l' }],
      ['/demo/stor/list'],
    );
    expect(contents.map((text) => text.trim())).toEqual(['2', '2']);
    expect(errors.map(({ phaseNum, input, p0input, code }) => [phaseNum, input, p0input, code])).toEqual([
      [1, '/demo/stor/none', '/demo/stor/list', 'EJ_NOENT'],
    ]);
    expect(failures).toEqual(['/demo/stor/list']);
  });

  test('as outputs of the last phase they are the objects themselves, which stay', async () => {
    const { outputs } = await service.run([{ exec: 'cat' }, { exec: 'mcat "$MANTA_INPUT_OBJECT" ~~/stor/b' }], ['/demo/stor/a']);
    expect(outputs[1]).toBe('/demo/stor/b');
    expect(await read(outputs[0] ?? '')).toBe('a 1\nb 2\n');
    expect(await read('/demo/stor/b')).toBe('a 3\nc 4\n');
  });

  test('gives no right: what the creator of the job may not read is refused in the next phase, and so is writing', async () => {
    await addUser(service.store, service.account, 'tim', service.key);
    const signed = signHeaders('storage', { key: service.key, keyId: `/demo/tim/keys/${service.key.fingerprint}` });
    const make = (collection: string, json: object): Promise<unknown> => service.compute('POST', `/my/${collection}`, { json });
    await make('policies', { name: 'jobs', rules: ['CAN createjob, addjobinputs AND getobject'] });
    await make('roles', { name: 'jobs', policies: [{ name: 'jobs' }], members: [{ type: 'subuser', login: 'tim', default: true }] });
    await service.ask('PUT', '/demo/jobs?metadata=true', {
      headers: { 'content-type': 'application/json; type=directory', 'role-tag': 'jobs' },
    });
    await service.put('/demo/stor/open', 'open', { 'role-tag': 'jobs' });
    const run = async (phases: Phase[]): Promise<Outcome> => {
      const sent = { headers: { ...signed, 'content-type': 'application/json' }, signing: false as const };
      const created = await service.storage('POST', '/demo/jobs', { ...sent, body: Buffer.from(JSON.stringify({ phases })) });
      const location = created.headers['location'] ?? '';
      const added = await service.storage('POST', `${location}/live/in?end=true`, { ...sent, body: Buffer.from('/demo/stor/open\n') });
      expect([created.status, added.status]).toEqual([201, 204]);
      return service.wait(location.split('/').at(-1) ?? '');
    };
    const secret = await run([{ exec: 'mcat ~~/stor/a "$MANTA_INPUT_OBJECT"' }, { exec: 'cat' }]);
    expect([secret.contents, messages(secret)]).toEqual([['open'], [['EJ_ACCES', 'permission denied: "/demo/stor/a"']]]);
    const own = await run([{ exec: 'cat | mpipe' }, { exec: 'cat' }]);
    expect([own.contents, own.errors]).toEqual([['open'], []]);
    for (const tool of ['mpipe', 'mpipe -p', 'mtee']) {
      const written = await run([{ exec: `echo mine | ${tool} ~~/stor/a` }]);
      expect(written.errors.map(({ code }) => code)).toEqual(['AuthorizationError']);
    }
    const made = await run([{ exec: 'echo mine | mpipe -p ~~/stor/made/x' }]);
    expect([made.errors[0]?.code, (await service.ask('HEAD', '/demo/stor/made')).status]).toEqual(['AuthorizationError', 404]);
    expect(await read('/demo/stor/a')).toBe('a 1\nb 2\n');
    await service.ask('PUT', '/demo/jobs?metadata=true', {
      headers: { 'content-type': 'application/json; type=directory', 'role-tag': '' },
    });
  });
});

test('mtee keeps what passes, and stdout is the output as ever', async () => {
  const { contents, outputs } = await service.run([{ exec: 'sort -r | mtee ~~/stor/sorted | head -1' }], ['/demo/stor/a']);
  expect([contents, outputs.length]).toEqual([['b 2\n'], 1]);
  expect(await read('/demo/stor/sorted')).toBe('b 2\na 1\n');
});

test('msplit and maggr: each key is summed by one reducer', async () => {
  const phases = [{ exec: 'msplit -d " " -n 2' }, reduce('maggr -c1=key -c2=sum', 2), reduce('sort')];
  const { contents, errors } = await service.run(phases, both);
  expect(errors).toEqual([]);
  expect(contents).toEqual(['a 4\nb 2\nc 4\n']);
  const wrong = await service.run([{ exec: 'msplit -n 3' }, reduce('cat', 2)], ['/demo/stor/a']);
  expect(wrong.errors.map(({ message }) => message)).toEqual(['user command exited with code 2']);
  expect(await read(wrong.errors[0]?.stderr ?? '')).toContain('-n 3: the next phase has 2 reducers');
});

describe('what tasks leave in the place of what tools leave', () => {
  test.each([
    ['a link instead of the directory', 'mkdir -p "${CLOUD_OUTPUTS%/*}"; ln -s /etc "$CLOUD_OUTPUTS"'],
    ['a file instead of the directory', 'mkdir -p "${CLOUD_OUTPUTS%/*}"; echo x > "$CLOUD_OUTPUTS"'],
    ['a link instead of a body', 'echo x | mpipe; ln -sf /etc/passwd "$CLOUD_OUTPUTS/0.body"; ln -sf /etc/passwd "$CLOUD_OUTPUTS/0.head"'],
    ['a pipe instead of a head', 'echo x | mpipe; rm "$CLOUD_OUTPUTS/0.head"; mkfifo "$CLOUD_OUTPUTS/0.head"'],
    ['a head of another kind', 'echo x | mpipe; printf "steal\\0\\0\\0\\0\\0" > "$CLOUD_OUTPUTS/0.head"'],
    ['an endless head', 'echo x | mpipe; head -c 1000000 /dev/zero > "$CLOUD_OUTPUTS/0.head"'],
    ['a reducer that is none', 'echo x | mpipe; printf "output\\00099\\0\\0\\0\\0" > "$CLOUD_OUTPUTS/0.head"'],
  ])('%s fails the task, or is no output: nothing outside is read', async (_, exec) => {
    const { contents, errors } = await service.run([{ exec: `${exec}; true` }, reduce('cat')], both);
    expect(contents.join('')).not.toContain('root:');
    expect(errors.every(({ code }) => code === 'UserTaskError')).toBe(true);
    const after = await service.run([{ exec: 'echo fine | mpipe' }], both);
    expect(after.contents).toEqual(['fine\n', 'fine\n']);
  });

  test('a task that removes all it can takes away no output of the others', async () => {
    const inputs = Array.from({ length: 12 }, (_, index) => both[index % 2] ?? '');
    const exec = 'read -r line; case $line in "a 3") rm -rf "${TMPDIR%/*}"/* 2>/dev/null ;; esac; echo "$line" | mpipe';
    const { contents, errors } = await service.run([{ exec }], inputs);
    expect(errors).toEqual([]);
    expect(contents.toSorted()).toEqual([...Array.from({ length: 6 }, () => 'a 1\n'), ...Array.from({ length: 6 }, () => 'a 3\n')]);
  });
});

test('without a sandbox the tools are on the PATH too', async () => {
  const open = await createTestJobs({ isolation: 'none' });
  try {
    await open.put('/demo/stor/a', 'a\n');
    const { contents, errors } = await open.run([{ exec: 'cat | mpipe; echo b | mpipe -r 0' }, reduce('sort')], ['/demo/stor/a']);
    expect([errors, contents]).toEqual([[], ['a\nb\n']]);
  } finally {
    await open.close();
  }
});
