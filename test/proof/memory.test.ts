import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { useLocal } from '../support/sandbox.ts';

const user = useLocal();
const program = resolve(import.meta.dirname, '../../bin/cloud');
const mebibyte = 1024 * 1024;
const size = 1024 * mebibyte;
/** Most memory of either side, bytes. */
const most = 150 * mebibyte;

/** Runs a shell line in which `$CLOUD` is the program, and returns the most memory that it used, bytes. */
function measure(line: string): number {
  const hook = join(user.home, 'peak.cjs');
  const file = join(user.home, 'peak');
  writeFileSync(
    hook,
    `process.on('exit', () => require('fs').writeFileSync(${JSON.stringify(file)}, String(process.resourceUsage().maxRSS)));`,
  );
  const env = { ...user.env, CLOUD: `"${process.execPath}" --require "${hook}" "${program}"` };
  execFileSync('bash', ['-o', 'pipefail', '-c', `eval "${line.replaceAll('"', '\\"')}"`], { env, cwd: user.home });
  return Number(readFileSync(file, 'utf8')) * 1024;
}

/** Most memory that the service has used so far, bytes. */
function peakOfService(): number {
  const [, kibibytes = ''] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${user.local.pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1024;
}

test('1 GiB goes up from a file and down into a pipe in less than 150 MB of memory on either side', { timeout: 120_000 }, () => {
  // A file with holes costs no disk; the content store keeps every byte.
  execFileSync('truncate', ['-s', String(size), join(user.home, 'large')]);
  const up = measure('$CLOUD stor put large large -q');
  rmSync(join(user.home, 'large'));
  const down = measure(`$CLOUD stor get large | cmp -n ${size} - /dev/zero`);
  const service = peakOfService();
  expect({ up: up < most, down: down < most, service: service < most }, JSON.stringify({ up, down, service })).toEqual({
    up: true,
    down: true,
    service: true,
  });
});
