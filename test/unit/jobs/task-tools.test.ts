import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { taskTools } from '../../../src/server/jobs/tools/scripts.ts';

let directory: string;
let outputs: string;
let round = 0;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'cloud-tools-'));
  mkdirSync(join(directory, 'bin'));
  for (const [name, text] of Object.entries(taskTools)) writeFileSync(join(directory, 'bin', name), text, { mode: 0o755 });
});
beforeEach(() => {
  round += 1;
  outputs = join(directory, `outputs-${round}`);
});
afterAll(() => rmSync(directory, { recursive: true }));

interface Run {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a shell command as a task does. */
function run(command: string, input = '', env: Record<string, string> = {}): Run {
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', command], {
    input,
    encoding: 'utf8',
    cwd: directory,
    env: {
      PATH: `${join(directory, 'bin')}:${process.env['PATH'] ?? ''}`,
      CLOUD_OUTPUTS: outputs,
      MANTA_USER: 'demo',
      CLOUD_REDUCERS: '4',
      ...env,
    },
  });
  return { status, stdout, stderr };
}

/** Runs commands one after the other from one shell, as `run` does each: what came of them, in their order. */
function runEach(commands: readonly string[], input = (_at: number): string => ''): Run[] {
  const place = mkdtempSync(join(directory, 'each-'));
  const fileOf = (at: number, name: string): string => join(place, `${at}.${name}`);
  const lines = commands.map((command, at) => {
    writeFileSync(fileOf(at, 'in'), input(at));
    return `(${command}\n) <${fileOf(at, 'in')} >${fileOf(at, 'out')} 2>${fileOf(at, 'err')}; echo $?`;
  });
  const statuses = run(lines.join('\n')).stdout.split('\n');
  const read = (at: number, name: string): string => readFileSync(fileOf(at, name), 'utf8');
  return commands.map((_, at) => ({ status: Number(statuses[at] || Number.NaN), stdout: read(at, 'out'), stderr: read(at, 'err') }));
}

/** Each of these commands is refused, with its message. */
function expectRefused(rows: readonly (readonly [command: string, message: string])[]): void {
  const refused = runEach(
    rows.map(([command]) => command),
    () => '1\n',
  );
  for (const [at, [command, message]] of rows.entries())
    expect(refused[at], command).toEqual({ status: 2, stdout: '', stderr: expect.stringContaining(message) as string });
}

/** What the tools left: texts of the head, and the body. */
function readOutputs(): { head: string[]; body: string }[] {
  const heads = readdirSync(outputs).filter((name) => name.endsWith('.head'));
  return heads
    .map((name) => Number.parseInt(name, 10))
    .toSorted((a, b) => a - b)
    .map((number) => ({
      head: readFileSync(join(outputs, `${number}.head`), 'utf8')
        .split('\0')
        .slice(0, -1),
      body: readFileSync(join(outputs, `${number}.body`), 'utf8'),
    }));
}

test('each tool is a program that bash can read', () => {
  for (const name of Object.keys(taskTools)) execFileSync('bash', ['-n', join(directory, 'bin', name)]);
});

describe('maggr', () => {
  const sums = [
    ['sum,mean', 'foo 1\nbar 1\nfoo 2\nfoo 5\n', 'foo 8,2.6666666666666665\nbar 1,1\n'],
    ['-c2=sum mean', '1 2\n3 4\n5 6\n7 8\n', '4 20\n'],
    ['-c2=sum,max mean,min', '1 2 3\n4 5 6\n7 8 9\n', '4,1 15,8 6,3\n'],
    ['-c1=key -c2=count,sum sum', 'foo 1 3\nbar 1 3\nfoo 2 4\nfoo 5 5\n', 'foo 3,8 12\nbar 1,1 3\n'],
    ['-d : -o - -c1=key sum', 'foo:1:2:3\nbar:4:5:6\nfoo:7:8:9\nbaz:10:11:12\n', 'foo-8-10-12\nbar-4-5-6\nbaz-10-11-12\n'],
    ["-i '#' -c1=key -c2=sum,mean -c3=count", 'foo 1 2 3\nbar 4 5 6\nfoo 7 8 9\nbaz 10 11 12\n', 'foo 8#4 2\nbar 4#4 1\nbaz 10#10 1\n'],
    ['-c1=key -c2=nop -c3=range,stddev,variance', 'a x 2\na y 4\na z 9\n', 'a 7,3.605551275463989,13\n'],
    ['sum', '0.1\n0.2\n', '0.30000000000000004\n'],
    ['sum', '', ''],
    ['sum', '1e3\n-5\n', '995\n'],
    ['sum', '10.0.0.1 5\n10.0.0.2 7\n10.0.0.1 1\n', '10.0.0.1 6\n10.0.0.2 7\n'],
    ['max', '2024-01-02 5\n2024-01-03 7\n2024-01-02 9\n', '2024-01-02 9\n2024-01-03 7\n'],
    ['sum', '12abc 1\n12abc 2\n13abc 4\n', '12abc 3\n13abc 4\n'],
    ['sum', '+1.5e2\r\n.5\t\n5.\n', '155.5\n'],
    ["-d '|' -c2=key sum", '1|a b\n2|a b\n3|c\n', '3|a b\n3|c\n'],
  ] as const;

  test('sums by columns, as its operations say', () => {
    const ended = runEach(
      sums.map(([words]) => `maggr ${words}`),
      (at) => sums[at]?.[1] ?? '',
    );
    for (const [at, [words, , expected]] of sums.entries()) expect(ended[at], words).toEqual({ status: 0, stdout: expected, stderr: '' });
  });

  test('leaves out lines whose values are no numbers, and says so', () => {
    const { status, stdout, stderr } = run('maggr -c1=key sum', 'a 1\na x\na 2\na 12abc\na 1,000\na 10.0.0.1\n');
    const reported = ['2, column 2 is not a number: a x', '4, column 2 is not a number: a 12abc'];
    reported.push('5, column 2 is not a number: a 1,000', '6, column 2 is not a number: a 10.0.0.1');
    expect([status, stdout, stderr]).toEqual([1, 'a 3\n', reported.map((line) => `maggr: line ${line}\n`).join('')]);
  });

  test('refuses operations that there are not', () => {
    expectRefused([
      ['maggr', 'no operations'],
      ['maggr median', 'unknown operation median'],
      ['maggr -c0=sum', '-c 0=sum: must be COLUMN=OPERATIONS'],
      ['maggr -c1=key,sum', 'a column that is key has no other operation'],
      ['maggr -x', 'usage: maggr'],
    ]);
  });

  test('reads a file, and lists its operations', () => {
    expect(run('printf "1 2\\n3 4\\n" >f; maggr -f f max').stdout).toBe('3 4\n');
    expect(run('maggr -l').stdout).toContain('mean');
  });
});

describe('mpipe, mtee, mcat', () => {
  test('leave what comes on stdin, in the order of the calls', () => {
    const { status, stdout, stderr } = run(
      'echo one | mpipe; echo two | mpipe -r 3; echo three | mpipe -p -H "content-type: text/plain" -H "m-x: a: b" ~~/stor/a\\ b; mcat -r 1 ~~/stor/x /other/public/y',
    );
    expect([status, stdout, stderr]).toEqual([0, '', '']);
    expect(readOutputs()).toEqual([
      { head: ['output', '', '', '', ''], body: 'one\n' },
      { head: ['output', '3', '', '', ''], body: 'two\n' },
      { head: ['output', '', '/demo/stor/a b', '1', '', 'content-type: text/plain', 'm-x: a: b'], body: 'three\n' },
      { head: ['objects', '1', '', '', ''], body: '/demo/stor/x\0/other/public/y\0' },
    ]);
  });

  test('mpipe -f takes a file, mtee passes on what it keeps', () => {
    expect(run('echo kept >f; mpipe -f f; echo through | mtee -c 1 ~~/stor/t | tr a-z A-Z').stdout).toBe('THROUGH\n');
    expect(readOutputs()).toEqual([
      { head: ['output', '', '', '', ''], body: 'kept\n' },
      { head: ['tee', '', '/demo/stor/t', '', '1'], body: 'through\n' },
    ]);
  });

  test('many at once get numbers of their own', () => {
    expect(run('seq 24 | xargs -P 8 -I{} sh -c "echo {} | mpipe"').status).toBe(0);
    expect(
      readOutputs()
        .map(({ body }) => Number(body))
        .toSorted((a, b) => a - b),
    ).toEqual(Array.from({ length: 24 }, (_, at) => at + 1));
  });

  test('refuse words that they cannot take', () => {
    expectRefused([
      ['mpipe a b', 'usage: mpipe'],
      ['mpipe stor/x', 'stor/x: not the path of an object'],
      ['mpipe -r 4', '-r 4: the next phase has 4 reducers, 0 to 3'],
      ['mpipe -r x', '-r x: must be a whole number'],
      ['mpipe -H plain', '-H plain: must be NAME: VALUE'],
      ['mpipe -f none', '-f none: not a file'],
      ['mtee', 'usage: mtee'],
      ['mcat', 'usage: mcat'],
      ['CLOUD_OUTPUTS= mpipe', 'mpipe: works only in the task of a job'],
    ]);
  });
});

describe('msplit', () => {
  /** The lines that each reducer gets. */
  function split(words: string, input: string): Map<number, string[]> {
    outputs = join(directory, `outputs-${(round += 1)}`);
    const { status, stderr } = run(`msplit ${words}`, input);
    expect([status, stderr]).toEqual([0, '']);
    const parts = readOutputs().filter(({ head }) => head[0] === 'output');
    return new Map(parts.map(({ head, body }) => [Number(head[1]), body.split('\n').slice(0, -1)]));
  }
  const reducerOf = (parts: Map<number, string[]>, line: string): number => [...parts].find(([, lines]) => lines.includes(line))?.[0] ?? -1;

  test('sends lines of the same key to the same reducer, keeps their order, and loses none', () => {
    const input = Array.from({ length: 400 }, (_, at) => `${at}\tkey${at % 23}\n`).join('');
    const parts = split('-f 2 -n 4', input);
    expect(parts.size).toBe(4);
    expect([...parts.values()].flat().toSorted()).toEqual(input.trim().split('\n').toSorted());
    for (const lines of parts.values()) expect(lines).toEqual(lines.toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)));
    const reducers = new Map<string, Set<number>>();
    for (const [reducer, lines] of parts)
      for (const line of lines) {
        const key = line.split('\t')[1] ?? '';
        reducers.set(key, (reducers.get(key) ?? new Set()).add(reducer));
      }
    for (const found of reducers.values()) expect(found.size).toBe(1);
    expect(reducerOf(split('-f 2 -n 4', '9\tkey5\n'), '9\tkey5')).toBe([...(reducers.get('key5') ?? [])][0]);
  });

  test('cuts by a delimiter of any characters, fields in their order', () => {
    const same = split("-d '||' -f 3,1", 'a||x||c\na||y||c\n');
    expect(reducerOf(same, 'a||x||c')).toBe(reducerOf(same, 'a||y||c'));
    expect(split('-f 9', 'a\nb\nc\n').size).toBe(1);
  });

  test('reads JSON: members, nested ones, whatever the space and the order', () => {
    const parts = split(
      '-j -f id,at.city',
      '{"id":7,"at":{"city":"Ber\\"lin"}}\n{ "at" : {"x":[1,{}],"city":"Ber\\"lin"}, "note":"id", "id" : 7 }\n',
    );
    expect([...parts.values()].map((lines) => lines.length)).toEqual([2]);
    expect(run('msplit -j -f id', 'plain\n').stderr).toContain('line 1 is not a JSON object: plain');
  });

  test('-i takes the key as the number of the reducer', () => {
    expect(split('-i -f 2', 'a\t0\nb\t3\nc\t0\n')).toEqual(
      new Map([
        [0, ['a\t0', 'c\t0']],
        [3, ['b\t3']],
      ]),
    );
    expect(run('msplit -i -n 2', '7\n')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('"7" is not a reducer from 0 to 1') as string,
    });
  });

  test('-e finds the key by JavaScript', () => {
    expect(split("-i -e 'line % 2'", '1\n2\n3\n4\n')).toEqual(
      new Map([
        [0, ['2', '4']],
        [1, ['1', '3']],
      ]),
    );
    const parts = split('-j -e "this.id.substring(0,2)"', '{"id":"ab1"}\n{"id":"ab2"}\n');
    expect([...parts.values()].map((lines) => lines.length)).toEqual([2]);
  });

  test('no input leaves a mark, so that stdout is no output either', () => {
    expect(run('msplit -n 2').status).toBe(0);
    expect(readOutputs().map(({ head }) => head[0])).toEqual(['none', 'none']);
  });

  test('refuses words that it cannot take', () => {
    expectRefused([
      ['msplit -n 5', '-n 5: the next phase has 4 reducers'],
      ['msplit -j', '-j needs -f FIELDS'],
      ['msplit -f a', '-f a: must be numbers'],
      ['CLOUD_REDUCERS=0 msplit', 'the next phase has no reducers'],
    ]);
  });
});
