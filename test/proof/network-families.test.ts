import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSandbox } from '../support/sandbox.ts';
import { lacks } from '../support/witnesses.ts';

/** The local service in networks of its own that have IPv4 alone, IPv6 alone, and both. */

const program = resolve(import.meta.dirname, '../../bin/cloud');

const families = {
  'IPv4 alone': 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6',
  'IPv6 alone': 'ip address del 127.0.0.1/8 dev lo',
  both: ':',
} as const;

const cloud = `"${process.execPath}" "${program}"`;
/** Starts the service, asks it, and ends it; what each command says. */
const session = (options: string): string => `
  ${cloud} local start --compute-port 0 --stor-port 0 ${options} -o name
  ${cloud} images list -o name
  echo 'some words' | ${cloud} stor put -q - words
  ${cloud} jobs run -q --map cat /demo/stor/words
  ${cloud} local status -j --columns running,answers
  ${cloud} local stop
  ${cloud} local status -j --columns running
`;

/** Runs lines of a shell in a network that has nothing but a loopback device. */
function runAlone(family: keyof typeof families, lines: string): string {
  const { sandbox, remove } = createSandbox();
  try {
    const asRoot = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
    // The process id of the service is that of the machine, because /proc is.
    const words = [...asRoot, '--net', 'bash', '-euc', `ip link set lo up; ${families[family]}\n${lines}`];
    const { status, stdout, stderr } = spawnSync('unshare', words, { env: sandbox.env, cwd: sandbox.home, encoding: 'utf8' });
    expect(status, `${stdout}${stderr}`).toBe(0);
    return `${stdout}${stderr}`;
  } finally {
    remove();
  }
}

describe.skipIf(lacks('ip'))('the local service', () => {
  it.each(['IPv4 alone', 'IPv6 alone', 'both'] as const)('passes the guided tour with %s', (family) => {
    expect(runAlone(family, `${cloud} local try`)).toContain('Everything works');
  });

  it.each([
    ['IPv4 alone', '', 'localhost'],
    ['IPv6 alone', '', '[::1]'],
    ['IPv6 alone', '--host ::1', '[::1]'],
    ['both', '--host ::1', '[::1]'],
    ['both', '', 'localhost'],
  ] as const)('with %s and %j: what start, status and stop say is so', (family, options, name) => {
    const said = runAlone(family, session(options));
    expect(said).toContain(`https://${name}:`);
    expect(said.replaceAll(/\s+/g, '')).toContain('"running":true,"answers":true');
    expect(said).toContain('some words');
    expect(said).toContain('Stopped');
    expect(said.replaceAll(/\s+/g, '')).toContain('"running":false');
  });
});
