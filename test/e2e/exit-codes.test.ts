import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exitCodes } from '../../src/base/errors.ts';
import { exitCodeHelp } from '../../src/cli/guides/program.ts';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { type Outcome } from '../support/sandbox.ts';
import { useShared } from '../support/shared-service.ts';
import { openTerminal } from '../support/terminal.ts';

const user = useShared('--http');
const program = resolve(import.meta.dirname, '../../bin/cloud');

/** How a line ends: in a process, or in this one, which takes a tenth of the time. One line of each code is a process. */
async function expectCode(line: string, code: number, run: (line: string) => Promise<Outcome> = user.shell): Promise<void> {
  const outcome = await run(line);
  expect([line, outcome.code, outcome.stderr]).toEqual([line, code, code === 0 ? '' : (expect.stringMatching(/./) as string)]);
}

const here = (line: string): Promise<Outcome> => user.here(line.split(' ').slice(1));

describe('exit codes', () => {
  it('are all in the manual', () => {
    expect(exitCodeHelp.map(([code]) => Number(code)).sort((a, b) => a - b)).toEqual(Object.values(exitCodes).sort((a, b) => a - b));
  });

  it('0: done, an empty list, and a pipe that closed early', async () => {
    await expectCode('cloud keys list', 0, here);
    await expectCode('cloud images list --name nothing', 0, here);
    await expectCode('set -o pipefail; cloud images list -o jsonl | head -1', 0);
  });

  it('1: failed', async () => {
    await expectCode('cloud keys list --url https://localhost:1 --retries 0', 1);
  });

  it('2: the command line or a profile is wrong, or a question cannot be asked', async () => {
    await expectCode('cloud keys lst', 2);
    await expectCode('cloud keys list --colour', 2, here);
    await expectCode('cloud keys list --profile nobody', 2, here);
    await expectCode('cloud profile delete local', 2, here);
  });

  it('3: not found', async () => {
    await expectCode('cloud keys get nobody', 3, here);
    await expectCode('cloud stor cat nothing', 3);
  });

  it('4: not authenticated or not allowed', async () => {
    writeRsaKeyFile(join(user.home, 'stranger'));
    await expectCode('cloud keys list --key-file stranger', 4);
  });

  it('5: some of several failed', async () => {
    await user.line('echo x | cloud stor put - there');
    await expectCode('cloud stor rm -y there nothing', 5);
  });

  it('6: waited too long', async () => {
    await user.line('cloud jobs create --name endless --map cat');
    await expectCode('cloud jobs wait endless --wait-timeout 200ms', 6);
    await user.line('cloud jobs cancel endless');
  });

  it('130: interrupted', async () => {
    const session = openTerminal('cloud keys delete "$(cloud keys list -o name)"', { env: user.env, cwd: user.home });
    await session.until(/\[y\/N\] $/);
    session.type('\u0003');
    expect((await session.end()).code).toBe(130);
  });

  it('130 when interrupted, for a shell: what changes ends in order, and everything by the signal, so that a loop of the shell ends too', async () => {
    const asked = new EventEmitter();
    const silent = createServer((socket) => socket.once('data', () => asked.emit('request')));
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const interrupt = async (...words: string[]): Promise<unknown> => {
      const child = spawn(program, [...words, '--url', url], { env: user.env, cwd: user.home, stdio: ['ignore', 'ignore', 'pipe'] });
      let stderr = '';
      child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
      await once(asked, 'request');
      child.kill('SIGINT');
      const [code, signal] = (await once(child, 'close')) as unknown[];
      return { code, signal, stderr };
    };
    try {
      expect(await interrupt('packages', 'list')).toEqual({ code: null, signal: 'SIGINT', stderr: '' });
      const changed = await interrupt('keys', 'create', 'stranger.pub');
      expect(changed).toEqual({ code: null, signal: 'SIGINT', stderr: expect.stringContaining('interrupted') as string });
      expect((await user.shell(`timeout --preserve-status -s INT 1 cloud packages list --url ${url}`)).code).toBe(130);
    } finally {
      silent.close();
    }
  });
});
