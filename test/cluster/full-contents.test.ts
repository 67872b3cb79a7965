import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apart, cannotMount } from '../support/mounts.ts';
import { createLimitedService, type LimitedService } from '../support/limited-service.ts';
import { listFileNames } from '../support/whole-store.ts';

/** The folder of a cluster's contents is full: 507, nothing acknowledged is lost, nothing is half there, and all goes on when there is room. */

const mebibyte = 1024 ** 2;
const cannot = cannotMount();
if (cannot !== undefined) process.stdout.write(`a full disk of contents cannot be made here: ${cannot}\n`);

describe.skipIf(cannot !== undefined)('while the disk of the contents is full', () => {
  let service: LimitedService;
  const ends: (() => unknown)[] = [];
  /** The disk as it is seen from here. */
  let small = '';
  beforeAll(async () => {
    const dir = await mkdtemp(join(tmpdir(), 'cloud-full-'));
    ends.push(() => rm(dir, { recursive: true, force: true }));
    // Whose mount it is.
    const line = 'mount -t tmpfs -o size=16m tmpfs "$0" && echo ready && exec sleep 300';
    const [unshare, ...words] = apart;
    const holder = spawn(unshare, [...words, 'bash', '-c', line, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
    ends.push(() => holder.kill('SIGKILL'));
    await once(holder.stdout, 'data');
    small = `/proc/${holder.pid}/root${dir}`;
    service = await createLimitedService(join(small, 'bytes'));
    ends.push(() => service.close());
  });
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });

  const fill = (): void => {
    try {
      writeFileSync(join(small, 'filler'), Buffer.alloc(32 * mebibyte));
    } catch {
      // Until nothing more goes in.
    }
  };
  const listFiles = (): string[] => listFileNames(join(small, 'bytes'));

  test('writes get 507, small ones and reads go on, nothing half stays, and all is well when there is room', async () => {
    const before = randomBytes(100_000);
    expect((await service.stor('PUT', 'before', { body: before })).status).toBe(204);
    const upload = await service.storage('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/parts' } });
    const { partsDirectory } = JSON.parse(upload.text) as { partsDirectory: string };
    const files = listFiles();
    fill();
    for (const size of [40_000, 900_000, 4 * mebibyte]) {
      for (const [method, path] of [
        ['PUT', '/demo/stor/new'],
        ['PUT', '/demo/stor/before'],
        ['PUT', `${partsDirectory}/0`],
      ] as const) {
        const { status, code, text } = await service.storage(method, path, { body: randomBytes(size) });
        expect([path, size, status, code, text]).toEqual([path, size, 507, 'NotEnoughSpace', expect.not.stringContaining(small)]);
      }
    }
    // Small contents are rows of the database, which has room.
    expect((await service.stor('PUT', 'small', { body: randomBytes(5000) })).status).toBe(204);
    expect(before.equals((await service.stor('GET', 'before')).bytes)).toBe(true);
    expect((await service.stor('GET', 'new')).status).toBe(404);
    expect(listFiles()).toEqual(files);

    rmSync(join(small, 'filler'));
    const after = randomBytes(4 * mebibyte);
    expect((await service.stor('PUT', 'before', { body: after })).status).toBe(204);
    expect(after.equals((await service.stor('GET', 'before')).bytes)).toBe(true);
    expect((await service.storage('PUT', `${partsDirectory}/0`, { body: after })).status).toBe(204);
  });

  test('what is deleted makes room', async () => {
    await service.collect();
    expect((await service.stor('PUT', 'large', { body: randomBytes(mebibyte) })).status).toBe(204);
    fill();
    await expect(service.collect()).rejects.toThrow('ENOSPC');
    expect((await service.stor('DELETE', 'large')).status).toBe(204);
    expect(await service.collect()).toMatchObject({ removed: 1 });
    expect((await service.stor('PUT', 'large', { body: randomBytes(900_000) })).status).toBe(204);
    expect(await service.collect()).toMatchObject({ removed: 0 });
    rmSync(join(small, 'filler'));
  });
});
