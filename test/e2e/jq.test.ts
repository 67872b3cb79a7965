import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { useShared } from '../support/shared-service.ts';
import { openTerminal } from '../support/terminal.ts';
import { lacks } from '../support/witnesses.ts';

/** The distribution's own jq is the witness; what it has another name for is left out. */

const user = useShared('--http');
const odd = ' "a" \\ b\tc\nd  ';
const env = { WANTED: `it's "$x" \\` };

beforeAll(async () => {
  await user.here(['stor', 'put', '-', 'text'], { input: 'plain text' });
  await user.here(['policies', 'create', 'odd', '--rule', 'CAN listkeys', '--description', odd]);
});

async function read(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await user.cloud(words, { env });
  expect([words, code, stderr]).toEqual([words, 0, '']);
  return stdout;
}

/** What jq makes of the JSON that a command prints without --jq. */
async function askWitness(line: string, expression: string): Promise<string> {
  const { stdout: input } = await user.here(line.split(' '));
  return execFileSync('jq', ['-rc', expression], { input, env: { ...process.env, ...env }, encoding: 'utf8', stdio: 'pipe' });
}

/** What is asked of the JSON of a command: in one process, because each loads jq. */
const asked: readonly (readonly [subject: string, line: string, expression: string])[] = [
  [
    'an expression that begins with a dash and ends with a comment: names, groups, and cells of sorted columns',
    'images list -o json --columns name,os --sort -name',
    `-1, "names", .[].name,
      "groups", (map(select(.os == "linux")) | group_by(.name)[] | {name: .[0].name, count: length}),
      "cells", (.[] | [.name, .os] | @tsv),
      (map(.name) | unique | length) # how many`,
  ],
  ['nothing of a list', 'images list', '.[] | select(.name == "nothing")'],
  ['an object of one thing', 'images get ubuntu-24.04', '.requirements'],
  ['odd text', 'policies get odd', '.description, "", [.description], "é\\u001b"'],
  [
    'a function and a comment for each record',
    'images list -o jsonl',
    'def twice: ., .; (.version | twice), (.tags // "none"), input_line_number * 0, (select(.os == "linux") | {id, name}) # those',
  ],
  ['a variable for some records', 'policies list -o jsonl', '.description, (select(.name == "odd") | env.WANTED)'],
];

describe.skipIf(lacks('jq'))("--jq beside the distribution's jq", () => {
  it.each(asked)('%s: what jq makes of the JSON of cloud %s', async (_, line, expression) => {
    const expected = await askWitness(line.includes(' -o ') ? line : `${line} -j`, expression);
    expect(await read(...line.split(' '), `--jq=${expression}`)).toBe(expected);
  });
});

/** Processor time of a process, in hundredths of a second. */
function readTicks(pid: string): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

describe('--jq', () => {
  it('filters what a request of any kind answers', async () => {
    const names = (await user.here(['images', 'list', '-o', 'name'])).stdout;
    expect((await read('api', '/my/images', '--jq', '.[].id')).split('\n').sort()).toEqual(names.split('\n').sort());
    expect(await read('stor', 'mkdir', 'made', '-q', '--jq', '.[].path')).toBe('/demo/stor/made\n');
    await user.here(['stor', 'put', '-', 'made/records'], { input: '{"a":1}\n{"a":"two"}\n' });
    expect(await read('stor', 'cat', 'made/records', '--jq', '.a')).toBe('1\ntwo\n');
    expect(await read('stor', 'find', 'made', '--jq', 'map(.path) | join(" ")')).toMatch(/made\/records/);
  });

  it('filters many records as they come', async () => {
    const { stdout } = await user.shell(
      `cloud stor find /demo -o jsonl --jq '.type as $t | [range(2000)] | .[] | "\\($t) \\(.)"' | head -3000 | sort | uniq -c | wc -l`,
    );
    expect(Number(stdout)).toBeGreaterThanOrEqual(2000);
  });

  it.each([
    ['.[', /^cloud .*: --jq: syntax error, .*\(line 1, column 2\)\nhint: [^\n]*\n$/],
    ['.[] |\n nope(1)', /^cloud .*: --jq: nope\/1 is not defined \(line 2, column 2\)\nhint: [^\n]*\n$/],
    [')  , (1', /^cloud .*: --jq: syntax error/],
    ['include "x"; .', /^cloud .*: --jq: /],
  ])('refuses %j before anything is done', async (expression, message) => {
    const { code, stdout, stderr } = await user.cloud(['keys', 'create', '--name', 'never', '--jq', expression]);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(message) as string]);
    expect((await user.here(['keys', 'get', 'never'])).code).toBe(3);
  });

  it.each([
    ['.[0].os, (.[1].name | keys)', 'json', /^\w+\n$/, 'has no keys'],
    ['if .os == "linux" then error("no") else .os end', 'jsonl', /^(\w+\n)*$/, 'no'],
    ['.[0] | error', 'json', /^$/, 'os'],
    ['"stop" | halt_error', 'json', /^$/, 'stop'],
  ])('what was made before %j fails is written, then one line says why', async (expression, form, out, why) => {
    const { code, stdout, stderr } = await user.cloud(['images', 'list', '-o', form, '--jq', expression, '--sort', '-os']);
    expect([code, stdout]).toEqual([2, expect.stringMatching(out) as string]);
    expect(stderr).toMatch(form === 'json' ? /^\{"code":"UsageError","message":"--jq: [^\n]*\n$/ : /^\{"code"/);
    expect(stderr).toContain(why);
  });

  it('says why in words unless JSON was asked for', async () => {
    const { code, stderr } = await user.cloud(['images', 'list', '--jq', '.nope']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^cloud [^\n]*: --jq: Cannot index array [^\n]*\n$/) as string]);
  });

  it('asks for variables of the environment, whatever is in them, and says on stderr what an expression says of itself', async () => {
    const expression = '[env.WANTED, $ENV.WANTED, (length | debug)] | unique[] # both';
    const { code, stdout, stderr } = await user.cloud(['services', 'list', '--jq', expression], { env });
    expect([code, stdout, stderr]).toEqual([0, `2\n${env.WANTED}\n`, '["DEBUG:",2]\n']);
  });

  it.each([
    [['images', 'list', '-o', 'yaml'], '--jq filters JSON, not yaml'],
    [['completion', 'bash'], 'prints text'],
    [['stor', 'cat', 'text'], 'Invalid'],
    [['api', '/my', '-i'], '--jq and --include cannot be combined'],
  ])('is refused for what is not JSON: %j', async (words, why) => {
    const { code, stdout, stderr } = await user.cloud([...words, '--jq', '.']);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(why) as string]);
  });

  it('shows JSON over several lines on a terminal, and no control characters but line ends and tabs', async () => {
    const session = openTerminal(`cloud services list --jq '.[0] | keys, "a\\u001b[31m\\tb\\nc"'`, { env: user.env, cwd: user.home });
    const { code, raw } = await session.end();
    expect([code, raw.replaceAll('\r', '')]).toEqual([0, '[\n  "name",\n  "url"\n]\na\\x1b[31m\tb\nc\n']);
  });

  it('ends at Ctrl-C when an expression does not', async () => {
    // A command that listens for signals: the default effect would end any other.
    const session = openTerminal(`echo $$ > pid; exec cloud stor find --jq '"begun" | last(repeat(.))'`, {
      env: user.env,
      cwd: user.home,
    });
    // Everything before the expression takes a third of that.
    await expect.poll(() => readTicks(readFileSync(join(user.home, 'pid'), 'utf8').trim()), { interval: 10 }).toBeGreaterThan(80);
    session.type('\u0003');
    expect((await session.end()).code).toBe(130);
  });
});
