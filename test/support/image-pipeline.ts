import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { TwoDatacenters } from './two-datacenters.ts';

interface Image {
  id: string;
  version: string;
  state: string;
  files: { sha1: string; size: number }[];
}

/** A stopped instance of the sample data. */
export const machine = '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001';

/** Words of a command in the datacenter `west`. */
export const west = (...words: string[]): string[] => ['--profile', 'west', ...words];

/** Words of `images pipeline` for the image `web` in a version. */
export const pipeline = (version: string, ...words: string[]): string[] => west('images', 'pipeline', machine, 'web', version, ...words);

/** The images `web` of a version in one datacenter, in whatever state. */
export async function listImagesIn(user: TwoDatacenters, profile: 'west' | 'east', version: string): Promise<Image[]> {
  return await user.json<Image[]>('--profile', profile, 'images', 'list', '--name', 'web', '--version', version, '--state', 'all');
}

/** Expects what a pipeline to `east` makes: one image in both datacenters, a copy of it that is whole, and nothing to go on with. */
export async function expectWholeImage(user: TwoDatacenters, version: string): Promise<void> {
  const [image, ...others] = await listImagesIn(user, 'west', version);
  expect([version, image?.state, others]).toEqual([version, 'active', []]);
  expect((await listImagesIn(user, 'east', version)).map(({ id, state }) => [id, state])).toEqual([[image?.id, 'active']]);
  const { bytes } = await user.here(west('stor', 'cat', `images/web-${version}.zfs.gz`));
  expect([bytes.length, createHash('sha1').update(bytes).digest('hex')]).toEqual([image?.files[0]?.size, image?.files[0]?.sha1]);
  const manifest = await user.here(west('stor', 'cat', `images/web-${version}.imgmanifest`));
  expect(JSON.parse(manifest.stdout)).toMatchObject({ uuid: image?.id, name: 'web', version });
  expect(await user.json('resume')).toEqual([]);
}
