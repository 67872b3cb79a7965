import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Phase } from '../../../src/api/objects.ts';
import { addUser, signHeaders } from '../../support/service.ts';
import { chooseByName, createTestJobs, narrow, resultOf, type Outcome, type TestJobs } from './harness.ts';

/** mcat, mpipe, msplit, mtee and maggr in tasks, in the sandbox of this machine. */

let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs(narrow);
  await service.put('/demo/stor/a', 'a 1\nb 2\n');
  await service.put('/demo/stor/b', 'a 3\nc 4\n');
});
afterAll(() => service.close());

const both = ['/demo/stor/a', '/demo/stor/b'];
const reduce = (exec: string, count = 1): Phase => ({ type: 'reduce', exec, count });
const messages = ({ errors }: Outcome): unknown[] => errors.map(({ code, message }) => [code, message]);
const read = async (path: string): Promise<string> => (await service.ask('GET', path)).text;

/** Puts an object for each name and gives their paths. */
async function putAll(contents: Readonly<Record<string, string>>, headers = {}): Promise<string[]> {
  for (const [name, content] of Object.entries(contents)) await service.put(`/demo/stor/${name}`, content, headers);
  return Object.keys(contents).map((name) => `/demo/stor/${name}`);
}

describe('mpipe', () => {
  const three = { exec: 'echo not this; for n in 1 2 3; do echo $n | mpipe; done; echo nor this', content: '' };
  const named = {
    exec: 'cat | mpipe -H "content-type: text/x-mine" -H "m-note: yes" ~~/stor/named; mpipe -p -f "$MANTA_INPUT_FILE" ~~/stor/new/deep/copy',
    content: 'a 1\nb 2\n',
  };
  const never = { exec: 'echo x | mpipe ~~/stor/never; exit 3', content: '' };
  const refused = [
    ['echo x | mpipe ~~/stor/none/x', 'ResourceNotFoundError', '/demo/stor/none does not exist'],
    ['echo x | mpipe /demo/stor', 'UserTaskError', '/demo/stor is fixed'],
    ['echo x | mpipe /other/stor/x', 'AuthorizationError', 'is not allowed to access /other/stor/x (putobject)'],
    ['echo x | mpipe ~~/jobs/$MANTA_JOB_ID/out.txt', 'UserTaskError', 'is written by the service when the job is done'],
    ['echo x | mpipe ~~/stor/a/b', 'UserTaskError', '/demo/stor/a is not a directory'],
    ["echo x | mpipe $'~~/stor/two\\nlines'", 'UserTaskError', 'without line breaks'],
    ['echo x | mpipe -c 9 ~~/stor/x', 'UserTaskError', 'durability-level is "9"'],
  ] as const;
  const refusedAt = (at: number): string => `refused-${at}`;

  let outcome: Outcome;
  let grown: number;
  beforeAll(async () => {
    const tasks: Record<string, { exec: string; content: string }> = { three, titled: named, failing: never };
    for (const [at, [exec]] of refused.entries()) tasks[refusedAt(at)] = { exec, content: '' };
    tasks['fine'] = { exec: 'echo fine', content: '' };
    const inputs = await putAll(Object.fromEntries(Object.entries(tasks).map(([name, { content }]) => [name, content])));
    await service.put('/demo/stor/named', 'old');
    const before = await service.countContents();
    const exec = chooseByName(Object.fromEntries(Object.entries(tasks).map(([name, task]) => [name, task.exec])));
    outcome = await service.run([{ exec }], inputs);
    grown = (await service.countContents()) - before;
  });
  const resultAt = (name: string): ReturnType<typeof resultOf> => resultOf(outcome, `/demo/stor/${name}`);

  test('makes as many outputs as there are calls, in their order, and takes the place of stdout', () => {
    expect(resultAt('three')).toEqual({ contents: ['1\n', '2\n', '3\n'], errors: [] });
    const outputs = outcome.outputs.filter((path) => path.includes('/three.'));
    for (const path of outputs)
      expect(path).toMatch(new RegExp(`^/demo/jobs/${outcome.id}/stor/demo/stor/three\\.0\\.[0-9a-f-]{36}$`, 'u'));
    expect(outcome.job.stats).toMatchObject({ outputs: 3 + 2 + 1, tasks: 3 + refused.length + 1 });
  });

  test('names an output, with headers, over what is there, in directories that -p makes', async () => {
    expect(resultAt('titled')).toEqual({ contents: [], errors: [] });
    const names = outcome.outputs.filter((path) => !path.startsWith('/demo/jobs/'));
    expect(names).toEqual(['/demo/stor/named', '/demo/stor/new/deep/copy']);
    const { headers, text } = await service.ask('GET', '/demo/stor/named');
    expect([text, headers['content-type'], headers['m-note']]).toEqual(['a 1\nb 2\n', 'text/x-mine', 'yes']);
    expect(await read('/demo/stor/new/deep/copy')).toBe('a 1\nb 2\n');
  });

  test('that cannot be stored fails the task alone, and leaves nothing', () => {
    for (const [at, [exec, code, words]] of refused.entries()) {
      const { contents, errors } = resultAt(refusedAt(at));
      expect([contents, errors.map((error) => [error.code, error.input])], exec).toEqual([[], [[code, `/demo/stor/${refusedAt(at)}`]]]);
      expect(errors[0]?.message, exec).toContain(words);
    }
    expect(resultAt('fine')).toEqual({ contents: ['fine\n'], errors: [] });
    // Six outputs, five files of the job, and what failed tasks said.
    expect(grown).toBeLessThan(20);
  });

  test('a task that fails leaves nothing of what it piped', async () => {
    const { contents, errors } = resultAt('failing');
    expect([errors.length, contents, (await service.ask('HEAD', '/demo/stor/never')).status]).toEqual([1, [], 404]);
  });

  test('outputs go on to the next phase: to any reducer, to the one that is told, or by a name that stays', async () => {
    const route = 'read -r letter number; echo $letter | mpipe -r 2; echo $number | mpipe -r 0';
    const pipe = 'wc -l | sed "s/.* //; s/^/piped /" | mpipe';
    const copy = 'sed "s/^/named /" | mpipe "$MANTA_INPUT_OBJECT.copy"';
    const exec = chooseByName({ 'route-a': route, 'route-b': route, 'pipe-a': pipe, 'pipe-b': pipe, 'copy-a': copy, 'copy-b': copy });
    const [first, second] = await Promise.all(both.map(read));
    const inputs = await putAll(
      Object.fromEntries(
        ['route', 'pipe', 'copy'].flatMap((name) => [
          [`${name}-a`, first ?? ''],
          [`${name}-b`, second ?? ''],
        ]),
      ),
    );
    const { contents, errors } = await service.run([{ exec }, reduce('sed "s/^/$MANTA_REDUCER /"', 3)], inputs);
    expect([errors, contents.length]).toEqual([[], 3]);
    const lines = contents.flatMap((text) => text.split('\n').slice(0, -1));
    const startWith = (word: string): string[] => lines.map((line) => line.slice(2)).filter((line) => line.startsWith(word));
    expect(startWith('piped').toSorted(), 'to any reducer').toEqual(['piped 2', 'piped 2']);
    expect(startWith('named').toSorted(), 'by name').toEqual(['named a 1', 'named a 3', 'named b 2', 'named c 4']);
    expect(await read('/demo/stor/copy-a.copy'), 'the named output stays when the job is done').toBe('named a 1\nnamed b 2\n');
    const routed = lines.filter((line) => !/^. (?:piped|named)/u.test(line));
    expect(routed.toSorted(), 'to the reducer that is told').toEqual(['0 1', '0 3', '2 a', '2 a']);
  });
});

describe('mcat', () => {
  test('emits objects by their names, of which the phase reads nothing; as outputs of the last phase they are the objects themselves', async () => {
    const inputs = await putAll({ list: '~~/stor/a\n/demo/stor/b\n', last: 'a 1\nb 2\n' });
    const first = chooseByName({ list: 'xargs mcat; mcat ~~/stor/none', last: 'cat' });
    const second = 'case $MANTA_INPUT_OBJECT in */last.*) mcat "$MANTA_INPUT_OBJECT" ~~/stor/b ;; *) wc -l ;; esac';
    const outcome = await service.run([{ exec: first }, { exec: second }], inputs);
    const { errors, failures, outputs } = outcome;
    expect(resultOf(outcome, '/demo/stor/list').contents.map((text) => text.trim())).toEqual(['2', '2']);
    expect(errors.map(({ phaseNum, input, p0input, code }) => [phaseNum, input, p0input, code])).toEqual([
      [1, '/demo/stor/none', '/demo/stor/list', 'EJ_NOENT'],
    ]);
    expect(failures).toEqual(['/demo/stor/list']);
    const own = outputs.findIndex((path) => path.includes('/last.0.'));
    expect([outputs.length, outputs[own + 1]]).toEqual([4, '/demo/stor/b']);
    expect(await read(outputs[own] ?? ''), 'an output of a phase before stays').toBe('a 1\nb 2\n');
    expect(await read('/demo/stor/b'), 'an object of the user stays').toBe('a 3\nc 4\n');
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
    const run = async (commands: Record<string, string>, phases: Phase[] = []): Promise<Outcome> => {
      const inputs = await putAll(Object.fromEntries(Object.keys(commands).map((name) => [name, name])), { 'role-tag': 'jobs' });
      const sent = { headers: { ...signed, 'content-type': 'application/json' }, signing: false as const };
      const body = JSON.stringify({ phases: [{ exec: chooseByName(commands) }, ...phases] });
      const created = await service.storage('POST', '/demo/jobs', { ...sent, body: Buffer.from(body) });
      const location = created.headers['location'] ?? '';
      const lines = Buffer.from(inputs.map((input) => `${input}\n`).join(''));
      const added = await service.storage('POST', `${location}/live/in?end=true`, { ...sent, body: lines });
      expect([created.status, added.status]).toEqual([201, 204]);
      return service.wait(location.split('/').at(-1) ?? '');
    };
    const readers = await run({ secret: 'mcat ~~/stor/a "$MANTA_INPUT_OBJECT"', own: 'cat | mpipe' }, [{ exec: 'cat' }]);
    expect(readers.contents.toSorted()).toEqual(['own', 'secret']);
    expect(messages(readers)).toEqual([['EJ_ACCES', 'permission denied: "/demo/stor/a"']]);
    const writes = Object.entries({ piped: 'mpipe', parents: 'mpipe -p', teed: 'mtee' });
    const writers = await run({
      ...Object.fromEntries(writes.map(([name, tool]) => [name, `echo mine | ${tool} ~~/stor/a`])),
      maker: 'echo mine | mpipe -p ~~/stor/made/x',
    });
    for (const name of ['piped', 'parents', 'teed', 'maker']) {
      const { contents, errors } = resultOf(writers, `/demo/stor/${name}`);
      expect([contents, errors.map(({ code }) => code)], name).toEqual([[], ['AuthorizationError']]);
    }
    expect((await service.ask('HEAD', '/demo/stor/made')).status).toBe(404);
    expect(await read('/demo/stor/a')).toBe('a 1\nb 2\n');
    await service.ask('PUT', '/demo/jobs?metadata=true', {
      headers: { 'content-type': 'application/json; type=directory', 'role-tag': '' },
    });
  });
});

test('msplit and maggr: each key is summed by one reducer', async () => {
  const split = 'msplit -d " " -n 2';
  const exec = chooseByName({ a: split, b: split, wrong: 'msplit -n 3' });
  const phases = [{ exec }, reduce('maggr -c1=key -c2=sum', 2), reduce('sort')];
  const { contents, errors } = await service.run(phases, [...both, ...(await putAll({ wrong: 'a 1\n' }))]);
  expect(contents).toEqual(['a 4\nb 2\nc 4\n']);
  expect(errors.map(({ input, message }) => [input, message])).toEqual([['/demo/stor/wrong', 'user command exited with code 2']]);
  expect(await read(errors[0]?.stderr ?? '')).toContain('-n 3: the next phase has 2 reducers');
});

describe('what tasks leave in the place of what tools leave', () => {
  /** Commands, and whether the task fails; else what it left is no output. */
  const left: Record<string, [exec: string, fails: boolean]> = {
    'a link instead of the directory': ['mkdir -p "${CLOUD_OUTPUTS%/*}"; ln -s /etc "$CLOUD_OUTPUTS"', true],
    'a file instead of the directory': ['mkdir -p "${CLOUD_OUTPUTS%/*}"; echo x > "$CLOUD_OUTPUTS"', true],
    'a link instead of a body': ['echo x | mpipe; ln -sf /etc/passwd "$CLOUD_OUTPUTS/0.body"', false],
    'links instead of both files': [
      'echo x | mpipe; ln -sf /etc/passwd "$CLOUD_OUTPUTS/0.body"; ln -sf /etc/passwd "$CLOUD_OUTPUTS/0.head"',
      true,
    ],
    'a pipe instead of a head': ['echo x | mpipe; rm "$CLOUD_OUTPUTS/0.head"; mkfifo "$CLOUD_OUTPUTS/0.head"', true],
    'a head of another kind': ['echo x | mpipe; printf "steal\\0\\0\\0\\0\\0" > "$CLOUD_OUTPUTS/0.head"', true],
    'an endless head': ['echo x | mpipe; head -c 1000000 /dev/zero > "$CLOUD_OUTPUTS/0.head"', true],
    'a reducer that is none': ['echo x | mpipe; printf "output\\00099\\0\\0\\0\\0" > "$CLOUD_OUTPUTS/0.head"', true],
  };

  test('fails the task, or is no output: nothing outside is read, and tasks after it find nothing of it', async () => {
    const names = Object.keys(left).map((_, at) => `left-${at}`);
    const commands = Object.fromEntries(Object.values(left).map(([exec], at) => [names[at] ?? '', `${exec}; true`]));
    const inputs = await putAll(Object.fromEntries([...names, 'fine'].map((name) => [name, ''])));
    // All of them twice, each after what another one left, and one that is fine at the end.
    const exec = chooseByName({ ...commands, fine: 'echo fine | mpipe' });
    const outcome = await service.run([{ exec }, reduce('cat')], [...inputs.slice(0, -1), ...inputs]);
    for (const [at, [what, [, fails]]] of Object.entries(left).entries()) {
      const { errors } = resultOf(outcome, `/demo/stor/left-${at}`);
      expect(
        errors.map(({ code }) => code),
        what,
      ).toEqual(fails ? ['UserTaskError', 'UserTaskError'] : []);
    }
    expect(outcome.contents).toEqual(['fine\n']);
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
