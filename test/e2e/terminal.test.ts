import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { useSandbox } from '../support/sandbox.ts';
import { useShared } from '../support/shared-service.ts';
import { openTerminal } from '../support/terminal.ts';

/** Begins a control sequence. */
const escape = '\u001b[';

describe('at a terminal', () => {
  const user = useShared();
  const open = (line: string, more: Partial<Parameters<typeof openTerminal>[1]> = {}) =>
    openTerminal(line, { env: user.env, cwd: user.home, ...more });
  const key = (): string => join(user.home, '.ssh/id_rsa');

  beforeAll(() => {
    mkdirSync(join(user.home, '.ssh'));
    writeRsaKeyFile(key());
  });

  it('asks before it deletes, and does nothing unless told yes', async () => {
    await user.here(['keys', 'create', '--name', 'asked']);
    const refused = open('cloud keys delete asked');
    await refused.until(/Delete key asked\? \[y\/N\] $/);
    refused.type('\r');
    expect(await refused.end()).toMatchObject({ code: 2, text: expect.stringContaining('nothing was done') as string });
    const interrupted = open('cloud keys delete asked');
    await interrupted.until(/\[y\/N\] $/);
    interrupted.type('\u0003');
    expect((await interrupted.end()).code).toBe(130);
    expect((await user.here(['keys', 'get', 'asked'])).code).toBe(0);
    const agreed = open('cloud keys delete asked');
    await agreed.until(/\[y\/N\] $/);
    agreed.type('y\r');
    expect(await agreed.end()).toMatchObject({ code: 0, text: expect.stringContaining('Deleted key asked') as string });
  });

  it('asks for a password twice and shows nothing of it', async () => {
    const session = open('cloud users create secretive --email s@example.com');
    await session.until(/assword.*: $/);
    session.type('Passw0rd-of-mine\r');
    await session.until(/(?:again|epeat|twice|once more).*: $/i);
    session.type('Passw0rd-of-mine\r');
    const { code, raw } = await session.end();
    expect(raw).not.toContain('Passw0rd');
    expect(code).toBe(0);
  });

  it('refuses passwords that differ, and leaves the terminal with echo when it is interrupted', async () => {
    const echo = `stty -a | tr ' ;' '\\n' | grep -x -e echo -e -echo`;
    const differing = open(`cloud users create twofaced --email s@example.com; echo "ended $?"; ${echo}`);
    await differing.until(/assword.*: $/);
    differing.type('Passw0rd-of-mine\r');
    await differing.until(/repeat the password: $/);
    differing.type('Passw0rd-of-yours\r');
    const { text, raw } = await differing.end();
    expect(text).toMatch(/: the passwords differ: nothing was done\nended 2\necho\n$/);
    expect(raw).not.toContain('Passw0rd');
    expect((await user.here(['users', 'get', 'twofaced'])).code).toBe(3);
    const interrupted = open(`cloud users create twofaced --email s@example.com; echo "ended $?"; ${echo}`);
    await interrupted.until(/assword.*: $/);
    interrupted.type('Passw0rd\u0003');
    const end = await interrupted.end();
    expect(end.text).toMatch(/ended 130\necho\n$/);
    expect(end.raw).not.toContain('Passw0rd');
    expect((await user.here(['users', 'get', 'twofaced'])).code).toBe(3);
  });

  it.each(['\u0003', '\u0004'])('goes on at a new line when a question is answered by %j', async (key) => {
    const asked = open('cloud keys delete demo@local');
    await asked.until(/\[y\/N\] $/);
    asked.type(key);
    const { code, text } = await asked.end();
    expect([code, text]).toEqual([
      130,
      expect.stringMatching(/\[y\/N\] (\^[CD])?\ncloud keys delete demo@local: (interrupted|no answer)\n$/),
    ]);
    expect((await user.here(['keys', 'get', 'demo@local'])).code).toBe(0);
  });

  it('colours, unless the user or the terminal does not want it', async () => {
    const coloured = await open('cloud keys list --no-pager').end();
    expect(coloured.raw).toContain(`${escape}1m`);
    for (const line of ['NO_COLOR=1 cloud keys list', 'cloud keys list --color never', 'cloud keys list | cat'])
      expect((await open(line).end()).raw).not.toContain(escape);
    expect((await open('cloud keys list', { term: 'dumb' }).end()).raw).not.toContain(escape);
    expect((await open('cloud keys list --color always | cat').end()).raw).toContain(escape);
    expect((await open('cloud keys get nobody').end()).raw).toContain(`${escape}31m`);
  });

  it.each([40, 60, 100])('fits tables into %i columns, ids whole', async (columns) => {
    const { text } = await open('cloud images list --columns name,id,description', { columns }).end();
    const lines = text.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) expect(line).toMatch(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}|ID/);
    if (columns >= 60) for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
  });

  it('cuts nothing off in a pipe, however narrow the terminal is', async () => {
    expect((await open(`cloud images list --columns description,id | cat`, { columns: 40 }).end()).text).not.toContain('…');
  });

  it('keeps the names of images whole, which are typed next', async () => {
    const { text } = await open('cloud images list', { columns: 100 }).end();
    expect(text).toContain('ubuntu-24.04  20250611');
    for (const line of text.trimEnd().split('\n')) expect(line.length).toBeLessThanOrEqual(100);
  });

  it('shows long tables with the pager, short ones and other formats without', async () => {
    const env = { ...user.env, PAGER: `sed 's/^/paged: /'` };
    const long = await open('cloud images list', { env, rows: 8 }).end();
    expect(long.code).toBe(0);
    const lines = long.text.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(8);
    expect(lines.every((line) => line.startsWith('paged: '))).toBe(true);
    for (const [line, rows] of [
      ['cloud images list', 50],
      ['cloud images list --no-pager', 8],
      ['cloud images list -j', 8],
      ['cloud images list | cat', 8],
      ['CLOUD_PAGER= cloud images list', 8],
    ] as const)
      expect((await open(line, { env, rows }).end()).text).not.toContain('paged: ');
    expect((await open('cloud images list', { env, rows: 8, term: 'dumb' }).end()).text).not.toContain('paged: ');
  });

  it('ends quietly when the pager is left early', async () => {
    const { code, text } = await open('cloud images list', { env: { ...user.env, PAGER: 'head -2' }, rows: 4 }).end();
    expect([code, text.trimEnd().split('\n').length]).toEqual([0, 2]);
  });

  it('shows control characters of names instead of obeying them', async () => {
    await user.here(['stor', 'put', '-', 'evil\u001b[31m\u0007name'], { input: 'x' });
    const { raw } = await open('cloud stor ls --color never').end();
    expect(raw).toContain('evil\\x1b[31m\\x07name');
    expect(raw).not.toContain('\u0007');
  });

  it('shows how far a transfer is, and nothing of it to a terminal that cannot', async () => {
    user.write('large', Buffer.alloc(8 * 1024 * 1024));
    const line = 'cloud stor put large large --bwlimit 8M';
    const shown = await open(line).end();
    expect(shown).toMatchObject({ code: 0 });
    expect(shown.text).toMatch(/MiB\/s|%/);
    expect((await open(line, { term: 'dumb' }).end()).raw).not.toContain(escape);
  });

  it('leaves no half object behind after Ctrl-C, and says 130', async () => {
    const session = open('cloud stor put large stopped --bwlimit 4M');
    await session.until(/MiB\/s|%/);
    session.type('\u0003');
    expect((await session.end()).code).toBe(130);
    expect((await user.here(['stor', 'stat', 'stopped'])).code).toBe(3);
  });

  it('ends a loop of the shell at Ctrl-C, also in a question', async () => {
    const session = open(`bash --norc -ic 'for one in 1 2; do cloud keys delete demo@local; echo "then $one"; done'`);
    await session.until(/\[y\/N\] $/);
    session.type('\u0003');
    expect((await session.end()).text).not.toContain('then');
  });

  it('says that the tour was interrupted, whatever its command said', async () => {
    const session = open('cloud local try');
    await session.until(/\$ cloud local start/);
    session.type('\u0003');
    expect(await session.end()).toMatchObject({ code: 130, text: expect.stringMatching(/cloud local try: interrupted\n$/) as string });
  });

  it('makes a profile by asking, with the keys that it found', async () => {
    await user.here(['keys', 'create', '--name', 'mine']);
    const session = open('cloud profile create asked');
    await session.until(/Address of the compute service: $/);
    session.type(`${user.local.computeUrl}\r`);
    await session.until(/Login of the account: $/);
    session.type('demo\r');
    expect(await session.until(/Key, by number or fingerprint \[1\]: $/)).toMatch(/1 {2}[\da-f:]{47} {2}rsa 2048/);
    session.type('\r');
    await session.until(/Address of the object storage \(empty: none\): $/);
    session.type('\r');
    const untrusted = await session.end();
    expect(untrusted.code).toBe(1);
    expect(untrusted.text).toContain('is not signed by a trusted authority');
    expect(untrusted.text).toContain('--no-test');
    const trusted = open(`cloud profile create asked --ca ${user.local.caFile} --url ${user.local.computeUrl} --account demo`);
    await trusted.until(/\[1\]: $/);
    trusted.type('1\r');
    await trusted.until(/none\): $/);
    trusted.type(`${user.local.storUrl}\r`);
    expect(await trusted.end()).toMatchObject({ code: 0, text: expect.stringContaining('Created profile asked') as string });
  });
});

describe('help at a terminal', () => {
  const user = useSandbox();
  it.each([60, 80, 120])('is wrapped to %i columns', async (columns) => {
    const { text } = await openTerminal('cloud images --help', { env: user.env, cwd: user.home, columns }).end();
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
  });
});
