import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { median, report } from '../support/figures.ts';
import { useLocal, type LocalInfo } from '../support/sandbox.ts';
import { isLong, scale } from '../support/scale.ts';

/** A fork of services that hold much, from the command to both ports, and the disk that it takes. */

const user = useLocal();
const rounds = scale(1, 5);
/** Objects, and bytes of each: the time grows with the objects, not with their bytes. */
const sizes: readonly (readonly [objects: number, bytes: number])[] = isLong
  ? [
      [1000, 1_073_742],
      [10_000, 107_375],
      [100_000, 10_738],
    ]
  : [[200, 107_375]];
const mostTime = 500;

/** Bytes of a directory on the disk that no other directory has. */
async function readOwnBytes(dir: string): Promise<number> {
  const { stdout } = await user.shell('find "$DIR" -type f -links 1 -printf "%b\\n" | awk \'{ sum += $1 * 512 } END { print sum + 0 }\'', {
    env: { DIR: dir },
  });
  return Number(stdout);
}

test.each(sizes)('a fork of %i objects of %i bytes', { timeout: 600_000 }, async (objects, size) => {
  const files = join(user.home, 'files');
  const line = `mkdir files && cd files && head -c ${size * 100} /dev/urandom > all && split -a 4 -b ${size} all f && rm all`;
  await user.shell(line);
  for (let at = 0; at < objects / 100; at += 1)
    expect((await user.here(['stor', 'put', '-r', '-T', '-q', files, `all/${size}/${at}`, '-p'])).code).toBe(0);
  rmSync(files, { recursive: true });
  const times: number[] = [];
  let own = 0;
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    const fork = await user.json<LocalInfo>('local', 'fork');
    times.push(performance.now() - started);
    own = await readOwnBytes(fork.dataDir);
    expect((await user.cloud(['local', 'stop', '--data', fork.dataDir])).code).toBe(0);
    rmSync(fork.dataDir, { recursive: true });
  }
  const time = median(times);
  const name = `cloud local fork, ${objects} objects of ${Math.round(size / 1024)} KiB`;
  // Without a promise for more objects: one link is made for each.
  const promise = objects <= 10_000 && { theirs: `promised: ${mostTime} ms`, ratio: time / mostTime };
  report('bench', { name, ours: `${time.toFixed(0)} ms`, ...promise });
  report('bench', { name: `disk of its own, ${name}`, ours: `${(own / 1e6).toFixed(1)} MB` });
});
