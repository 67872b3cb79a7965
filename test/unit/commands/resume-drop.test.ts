import { expect, test } from 'vitest';
import type { Context } from '../../../src/cli/command.ts';
import { cleanService } from '../../../src/commands/resume/drop.ts';
import type { Entry } from '../../../src/config/journal-entry.ts';
import type { Unfinished } from '../../../src/config/journal.ts';

test('parts of a copy to the service of another profile are deleted at that service', async () => {
  const own = { target: '/jill/stor/large', pid: 7, partsDirectory: '/jill/uploads/abc/abcdef' };
  const notes = new Map(['far', 'near'].map((service) => [`uploads/${service}`, { ...own, service: `https://${service}.example` }]));
  const state = { list: () => [...notes.keys()], read: (name: string) => notes.get(name), remove: (name: string) => notes.delete(name) };
  const aborted: string[] = [];
  const open = (service: string): object => ({
    state,
    settings: () => ({ storUrl: { value: `https://${service}.example` } }),
    storage: { abortMultipartUpload: async () => void aborted.push(service) },
    profiles: { read: (name: string) => name },
    withProfile: open,
  });
  const unfinished = { pids: [7] } as unknown as Unfinished;
  const entry = { placed: [['stor:large', 'far/stor:/jill/stor/large']], facts: {} } as unknown as Entry;
  await cleanService(open('near') as Context, unfinished, entry);
  expect([aborted, [...notes.keys()]]).toEqual([['far'], ['uploads/near']]);
});
