import { randomBytes } from 'node:crypto';
import { streamOf } from '../../../src/api/message.ts';
import { openStore } from '../../../src/server/store/open.ts';
import type { Store } from '../../../src/server/store/store.ts';

/** Stores objects for ever, several at a time, and prints the name of each once it is acknowledged; its test kills it. */
async function writeForever(store: Store, worker: number): Promise<void> {
  for (let index = 0; ; index += 1) {
    const name = `${worker}-${index}`;
    const stored = await store.bytes.write(streamOf(randomBytes(2000)));
    await store.write(async (transaction) => {
      await transaction
        .insertInto('entries')
        .values({
          parent: '/demo/stor',
          name,
          type: 'object',
          etag: stored.id,
          mtime: 0,
          size: stored.size,
          md5: stored.md5,
          content: stored.id,
          copies: 2,
          headers: '{}',
          role_tags: '[]',
          children: 0,
        })
        .execute();
    });
    process.stdout.write(`${name}\n`);
  }
}

async function run(): Promise<void> {
  const store = await openStore(process.argv[2] ?? '');
  await Promise.all(Array.from({ length: 32 }, (_, worker) => writeForever(store, worker)));
}

void run();
