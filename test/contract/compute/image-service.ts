import { afterAll, beforeAll, expect } from 'vitest';
import { countContents } from '../../support/byte-stores.ts';
import { collectContents } from '../../support/cluster-database.ts';
import { createTestService, type TestReply, type TestService } from '../../support/service.ts';

/** An image as the service shows it. */
export interface Shown {
  id: string;
  name: string;
  state: string;
  owner: string;
  origin?: string;
  acl: string[];
  published_at: string;
  files: { compression: string; sha1: string; size: number }[];
}

/** A sample instance; those from 3 on stand for a failure each. */
export const machineOf = (number: number): string => `6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c000${number}`;
/** An image of the second datacenter; there is none with the number 9. */
export const second = (number: number): string => `b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e000${number}`;
export const operatorImage = '04f66d5e-0a32-4af3-a1f9-3bd80f95f0e1';
export const missing = { status: 404, code: 'ResourceNotFound' };
export const invalid = { status: 409, code: 'InvalidArgument' };

/** A service behind a socket whose clock stands still but for the making of images, which takes a second. */
export interface ImageService {
  readonly service: TestService;
  readonly now: () => number;
  askAsOther(method: string, target: string, json?: object): Promise<TestReply>;
  /** The image while it is being made. */
  create(more?: object): Promise<Shown>;
  /** The same when it is made. */
  finish(image: Shown): Promise<Shown>;
  /** Lets a second pass. */
  pass(): void;
  countContents(): Promise<number>;
}

/** One for a test file. */
export function useImages(): ImageService {
  let service: TestService;
  let time = Date.now();
  beforeAll(async () => {
    service = await createTestService({ now: () => time, settings: { imageTime: 1000 }, overHttp: true });
  });
  afterAll(() => service.close());
  return {
    get service() {
      return service;
    },
    now: () => time,
    askAsOther: (method, target, json) => {
      const signing = { key: service.otherKey, keyId: `/other/keys/${service.otherKey.fingerprint}` };
      return service.compute(method, target, { signing, ...(json && { json }) });
    },
    create: async (more = {}) => {
      const json = { machine: machineOf(1), name: 'made', version: '1.0', ...more };
      const { status, text, json: made } = await service.compute('POST', '/my/images', { json });
      expect(status, text).toBe(201);
      return made as Shown;
    },
    finish: async (image) => {
      time += 1000;
      return (await service.compute('GET', `/my/images/${image.id}`)).json as Shown;
    },
    pass: () => {
      time += 1000;
    },
    countContents: async () => {
      await collectContents(service.store);
      return countContents(service.store.bytes);
    },
  };
}
