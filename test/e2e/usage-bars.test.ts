import { expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';
import { openTerminal } from '../support/terminal.ts';

const user = useShared('--http');

test('du shows shares as bars on a terminal, and the table as it is elsewhere', async () => {
  user.write('used/large/f', 'x'.repeat(3000));
  user.write('used/small/f', 'x'.repeat(1000));
  user.write('used/none/f', '');
  await user.here(['stor', 'put', '-r', '-T', 'used', 'used', '-q']);
  const at = async (line: string): Promise<string[]> => {
    const { code, text, raw } = await openTerminal(line, { env: user.env, cwd: user.home }).end();
    expect([code, raw.includes('\u001b[?25l')]).toEqual([0, false]);
    return text.trimEnd().split('\n');
  };
  const shown = await at('cloud stor du used');
  expect(shown.map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
    expect.stringMatching(/^ ?SIZE SHARE OBJECTS PATH$/),
    expect.stringContaining('████████████ 75% 1 /demo/stor/used/large'),
    expect.stringContaining('0% 1 /demo/stor/used/none'),
    expect.stringContaining('████ 25% 1 /demo/stor/used/small'),
    expect.stringContaining('████████████████ 100% 3 /demo/stor/used'),
  ]);
  const plain = (await user.here(['stor', 'du', 'used'])).stdout;
  expect(plain).not.toMatch(/[█%]|SHARE/);
  // What is read by program is the same at a terminal.
  expect((await at('cloud stor du used -o tsv')).join('\n')).not.toMatch(/[█%]|SHARE/);
  expect((await at('TERM=dumb cloud stor du used')).join('\n')).not.toMatch(/[█%]|SHARE/);
});
