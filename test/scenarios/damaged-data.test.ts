import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { useLocal } from '../support/sandbox.ts';

/** Services whose data was damaged: a snapshot restores them, and every other command says what is damaged and what to do. */

const user = useLocal('--http');
const at = (...parts: string[]): string => join(user.local.dataDir, ...parts);
const whole = (): string => join(user.home, 'whole');
const start = ['local', 'start', '--http', '--compute-port', '0', '--stor-port', '0'];

/** Fills pages of the database with zeros. @param first number of the first page, from 0 */
function overwrite(first: number, pages: number): void {
  writeFileSync(at('cloud.db'), readFileSync(at('cloud.db')).fill(0, first * 4096, (first + pages) * 4096));
}

/** Ways to damage the database. The log is removed too, as it is when only the database is copied. */
const ways: [name: string, status: RegExp, how: () => unknown][] = [
  ['emptied', /cloud\.db is empty or missing/u, () => truncateSync(at('cloud.db'), 0)],
  ['missing', /cloud\.db is empty or missing/u, () => rmSync(at('cloud.db'))],
  ['foreign', /cloud\.db is not a database/u, () => writeFileSync(at('cloud.db'), 'x'.repeat(100_000))],
  ['half', /cloud\.db has only 102400 of \d+ bytes/u, () => truncateSync(at('cloud.db'), 102_400)],
  ['overwritten', /^$/u, () => overwrite(3, 20)],
];

async function expectRestored(): Promise<void> {
  expect(await user.here(['stor', 'cat', 'large'])).toMatchObject({ code: 0, stdout: 'x'.repeat(100_000) });
  expect((await user.here(['stor', 'ls', 'after'])).code).toBe(3);
}

beforeAll(async () => {
  await user.here(['stor', 'put', '-q', '-', 'large'], { input: 'x'.repeat(100_000) });
  await user.json('local', 'snapshot', 'create', 'saved');
  await user.here(['stor', 'put', '-q', '-', 'after'], { input: 'y'.repeat(100_000) });
});

describe('at rest', () => {
  beforeAll(async () => {
    await user.here(['local', 'stop']);
    cpSync(user.local.dataDir, whole(), { recursive: true });
  });

  /** The data before it was damaged. */
  function renew(): void {
    rmSync(user.local.dataDir, { recursive: true });
    cpSync(whole(), user.local.dataDir, { recursive: true });
  }

  it.each(ways)('a database that is %s is restored from a snapshot; other commands say what is damaged', async (_, status, how) => {
    renew();
    how();
    const contents = readdirSync(at('bytes'), { recursive: true });
    const shown = await user.here(['local', 'status']);
    expect([shown.code, shown.stderr]).toEqual([0, expect.stringMatching(status)]);
    for (const words of [start, ['local', 'snapshot', 'create', 'another']]) {
      // In processes of their own: libsql keeps a damaged file locked until its process ends.
      const { code, stderr } = await user.cloud(words);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/cloud\.db is (?:damaged|empty or missing).*\nhint: restore a snapshot .*\n$/u),
      ]);
    }
    // A service over a new database would remove them.
    expect(readdirSync(at('bytes'), { recursive: true })).toEqual(contents);
    const listed = await user.json<{ name: string }[]>('local', 'snapshot', 'list');
    expect(listed.map(({ name }) => name)).toEqual(['saved']);
    // Of an interrupted transaction: beside the restored database, it would be applied to that.
    writeFileSync(at('cloud.db-journal'), Buffer.alloc(4096, 1));
    expect(await user.here(['local', 'snapshot', 'restore', 'saved'])).toMatchObject({ code: 0, stderr: 'Restored snapshot saved\n' });
    expect(existsSync(at('cloud.db-journal'))).toBe(false);
    await user.json(...start);
    await expectRestored();
    await user.here(['local', 'stop']);
  });

  it('contents that are missing are restored; status and start say that they are missing', async () => {
    renew();
    rmSync(at('bytes'), { recursive: true });
    for (const words of [['local', 'status'], start]) {
      const { code, stderr } = await user.here(words);
      expect([code, stderr]).toEqual([0, expect.stringContaining(`${at('bytes')} is missing`)]);
    }
    await user.here(['local', 'stop']);
    expect((await user.here(['local', 'snapshot', 'restore', 'saved'])).code).toBe(0);
    await user.json(...start);
    await expectRestored();
    await user.here(['local', 'stop']);
  });

  it('a damaged snapshot replaces nothing of a damaged state', async () => {
    renew();
    cpSync(at('snapshots', 'saved'), at('snapshots', 'short'), { recursive: true });
    truncateSync(at('snapshots', 'short', 'cloud.db'), 40_960);
    truncateSync(at('cloud.db'), 102_400);
    const before = readFileSync(at('cloud.db'));
    const { code, stderr } = await user.here(['local', 'snapshot', 'restore', 'short']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('nothing was changed')]);
    expect(readFileSync(at('cloud.db')).equals(before)).toBe(true);
  });

  it('a damaged database can be deleted with everything else; a directory without one is left alone', async () => {
    mkdirSync(join(user.home, 'foreign', 'snapshots'), { recursive: true });
    const foreign = await user.here(['local', 'snapshot', 'restore', 'saved', '--data', 'foreign']);
    expect(foreign).toMatchObject({ code: 2, stderr: expect.stringContaining('is not the data of a local service') as string });
    renew();
    truncateSync(at('cloud.db'), 102_400);
    expect((await user.here(['local', 'reset', '-y'])).code).toBe(0);
    expect(existsSync(user.local.dataDir)).toBe(false);
    cpSync(whole(), user.local.dataDir, { recursive: true });
  });
});

it.each(ways.filter(([name]) => name !== 'missing'))(
  'a service whose database is %s while it runs is restored from a snapshot',
  async (_, __, how) => {
    await user.json(...start);
    how();
    const { code, stderr } = await user.here(['local', 'snapshot', 'create', 'another']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/cloud\.db is damaged: .*\nhint: restore a snapshot /u)]);
    expect(await user.here(['local', 'snapshot', 'restore', 'saved'])).toMatchObject({ code: 0, stderr: 'Restored snapshot saved\n' });
    await expectRestored();
    expect((await user.here(['local', 'stop'])).code).toBe(0);
    await user.json(...start);
    await expectRestored();
    await user.here(['local', 'stop']);
  },
);
