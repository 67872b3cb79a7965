import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { useLocal, type Outcome } from '../support/sandbox.ts';

/** A service has failures on command, as curl and this program see them, and ends them while requests hang. */

const user = useLocal();
const size = 200_000;
const content = Buffer.alloc(size, 'abcdefghij');

const add = (...words: string[]) => user.json<{ id: number; seed?: number; injected: number }[]>('local', 'faults', 'add', ...words);
const list = () => user.json<{ id: number; injected: number; left?: number }[]>('local', 'faults', 'list');
const clear = (...ids: string[]) => user.here(['local', 'faults', 'clear', ...ids]);
const readLog = () => readFileSync(join(user.local.dataDir, 'service.log'), 'utf8');

let url = '';
beforeAll(async () => {
  await user.here(['stor', 'put', '-q', user.write('large', content), 'large']);
  url = (await user.here(['stor', 'sign', 'large', '--expires', '1h', '-o', 'name'])).stdout.trim();
});
afterEach(() => clear());

/** Status and number of bytes that curl got, and its exit code. */
async function fetchLarge(...words: string[]): Promise<[number | null, string]> {
  const { code, stdout } = await user.shell(
    `curl -s -o body -w "%{http_code} %{size_download}\n" --cacert "$CA" ${words.join(' ')} "$URL"`,
    {
      env: { CA: user.local.caFile, URL: url },
    },
  );
  return [code, stdout.trimEnd()];
}

/** `stor get` without retries; its partial file is of no interest. */
const get = (): Promise<Outcome> => user.here(['stor', 'get', '-q', '--retries', '0', 'large', 'got']);

describe('a fault', () => {
  it('is a status, as often as told, and stands in the log with the id of the request', async () => {
    await add('getobject', '503:Busy', '--count', '2');
    expect([await fetchLarge(), await fetchLarge(), await fetchLarge()]).toEqual([
      [0, expect.stringMatching(/^503 /)],
      [0, expect.stringMatching(/^503 /)],
      [0, `200 ${size}`],
    ]);
    expect(await list()).toMatchObject([{ operation: 'getobject', failure: '503:Busy', injected: 2, left: 0 }]);
    const [, id = 'none'] = /([0-9a-f-]{36}) fault \d+ injected: getobject=503:Busy/u.exec(readLog()) ?? [];
    expect(readLog()).toMatch(new RegExp(`GET /demo/stor/large\\S* 503 ${id}`, 'u'));
  });

  it('is waited out by retries', async () => {
    await add('getobject', 'InternalError', '--count', '1');
    expect((await user.here(['stor', 'get', '-q', 'large', 'got'])).code).toBe(0);
    expect(readFileSync(join(user.home, 'got')).equals(content)).toBe(true);
  });

  it('throttles as each service does', async () => {
    await add('*', 'throttle');
    expect((await fetchLarge())[1]).toMatch(/^429 /);
    const { code, stderr } = await user.here(['keys', 'list', '--retries', '0']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('throttle')]);
  });

  it('closes the connection, and nothing was done', async () => {
    await add('getobject', 'close', '--count', '1');
    expect(await fetchLarge()).toEqual([52, '000 0']);
    await add('putobject', 'close');
    expect((await user.here(['stor', 'put', '-q', '--retries', '0', user.write('new', 'new'), 'new'])).code).toBe(1);
    await clear();
    expect((await user.here(['stor', 'stat', 'new'])).code).toBe(3);
  });

  it('breaks a response off, which no client takes for whole', async () => {
    await add('getobject', 'cut:50000');
    const [code, told] = await fetchLarge();
    expect([code, Number(told.split(' ')[1]) <= 50_000]).toEqual([18, true]);
    expect((await get()).code).not.toBe(0);
  });

  it('breaks an upload off, of which nothing stays', async () => {
    await add('putobject', 'cut-upload');
    const { code } = await user.here(['stor', 'put', '-q', '--retries', '0', 'large', 'half']);
    expect(code).not.toBe(0);
    await clear();
    expect((await user.here(['stor', 'stat', 'half'])).code).toBe(3);
  });

  it('gives a wrong MD5, which a download notices', async () => {
    await add('getobject', 'wrong-md5');
    const { code, stderr } = await get();
    expect([code, stderr]).toEqual([1, expect.stringMatching(/MD5/u)]);
    const md5 = createHash('md5').update(content).digest('base64');
    await fetchLarge('-D', 'headers');
    expect(readFileSync(join(user.home, 'headers'), 'utf8')).toMatch(/content-md5: /iu);
    expect(readFileSync(join(user.home, 'headers'), 'utf8')).not.toContain(md5);
  });

  it('shows what was there before', async () => {
    await add('listpolicies', 'stale:1h', '--count', '1');
    await user.json('policies', 'create', 'late', '--rule', 'CAN ping');
    expect(await user.json('policies', 'list')).toEqual([]);
    expect(await user.json('policies', 'list')).toMatchObject([{ name: 'late' }]);
  });

  it('is for a path and an account', async () => {
    await add('getobject', '500', '--path', '/demo/*/lar*e');
    await add('getobject', '501', '--path', '/demo/stor/larg');
    await add('getobject', '502', '--from-account', 'jill');
    expect((await fetchLarge())[1]).toMatch(/^500 /);
    await clear('1');
    const [first] = await list();
    await clear(String(first?.id));
    expect((await fetchLarge())[1]).toMatch(/^200 /);
    await add('getobject', '503', '--from-account', 'demo');
    expect((await fetchLarge())[1]).toMatch(/^503 /);
  });

  it('chooses the same requests again by its seed', async () => {
    const play = async (): Promise<string> => {
      await add('getobject', '503', '--rate', '0.5', '--seed', '7');
      // The first transfer is that of `fetchLarge`.
      const [, told] = await fetchLarge(...Array.from({ length: 11 }, () => '"$URL" -o body'));
      await clear();
      return (
        told
          .match(/\d+ \d+/gu)
          ?.map((each) => each.slice(0, 3))
          .join('') ?? ''
      );
    };
    const first = await play();
    expect(first).toMatch(/^(?:200|503){12}$/);
    expect([first.includes('200'), first.includes('503')]).toEqual([true, true]);
    expect(await play()).toBe(first);
    expect((await add('getobject', '503', '--rate', '.5'))[0]?.seed).toBeTypeOf('number');
  });
});

describe('what hangs', () => {
  it.each(['stall:50000', 'latency:1h'])('goes on when %s is cleared', async (failure) => {
    const [fault] = await add('getobject', failure);
    const hanging = fetchLarge();
    await expect.poll(async () => (await list()).find(({ id }) => id === fault?.id)?.injected).toBe(1);
    await clear(String(fault?.id));
    expect(await hanging).toEqual([0, `200 ${size}`]);
    expect(readFileSync(join(user.home, 'body')).equals(content)).toBe(true);
  });

  it('goes on with an upload when its fault is cleared', async () => {
    const [fault] = await add('putobject', 'stall-upload:1000');
    const putting = user.here(['stor', 'put', '-q', 'large', 'slow']);
    await expect.poll(async () => (await list()).find(({ id }) => id === fault?.id)?.injected).toBe(1);
    await clear();
    expect(await putting).toMatchObject({ code: 0, stderr: '' });
    expect((await user.here(['stor', 'cat', 'slow'])).bytes.equals(content)).toBe(true);
  });

  it('keeps no service from ending', async () => {
    const begin = 'cloud local faults add getobject stall -q >&2; cloud stor get -q --retries 0 large y 2>&- &';
    const wait = 'until grep -q "injected: getobject=stall" log; do sleep 0.05; done; exit 7';
    const words = ['local', 'run', '--data', user.local.dataDir, '--log', 'log', '--', 'sh', '-c', `${begin} ${wait}`];
    expect((await user.cloud(words)).code).toBe(7);
    expect(await list(), 'the fault was that of the other service').toEqual([]);
  });
});

describe('what is refused', () => {
  it.each([
    [['getobjct', '503'], 'did you mean getobject?'],
    [['getobject', '200'], '200 is not a status of an error'],
    [['getobject', 'Strange'], 'write the status before the code'],
    [['getobject', 'latency'], 'needs a duration'],
    [['getobject', 'latency:2w'], 'needs a duration'],
    [['getobject', 'cut:few'], 'the bytes that pass before are a number'],
    [['getobject', 'close:1'], 'close takes no value'],
    [['getobject', 'stale:1s'], 'getobject never lags'],
    [['getobject', '204'], 'only getjob and getmultipartupload'],
    [['imagecreation', '503'], 'PrepareImageDidNotRun'],
    [['getobject', '503', '--rate', '2'], 'rate must be more than 0 and at most 1'],
    [['getobject', '503', '--rate', 'x'], '--rate x'],
    [['getobject', '503', '--count', '0'], '--count'],
  ])('%j', async (words, problem) => {
    const { code, stderr } = await user.here(['local', 'faults', 'add', ...words]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
    expect(await list()).toEqual([]);
  });

  it('the id of a fault that is not there', async () => {
    expect(await clear('99')).toMatchObject({ code: 3, stderr: expect.stringContaining('there is no fault 99') as string });
    expect((await clear('x')).code).toBe(2);
    const { id } = await user.json<{ id: number }[]>('local', 'faults', 'add', 'ping', '500').then(([fault]) => fault ?? { id: 0 });
    const partly = await clear(String(id), '99', '-q', '-o', 'name');
    expect([partly.code, partly.stdout, partly.stderr]).toEqual([
      5,
      `${id}\n`,
      expect.stringMatching(/there is no fault 99\n(?:.*\n)*.*1 of 2 failed/u),
    ]);
  });

  it('an operation that does not exist, at the start', async () => {
    const { code, stderr } = await user.cloud(['local', 'run', '--data', user.local.dataDir, '--fault', 'getobjct=503', '--', 'true']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('did you mean getobject?')]);
  });
});
