import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { median, report } from '../support/figures.ts';
import { measureLoad } from '../support/load.ts';
import { peerPrograms, type Peer } from '../support/peers.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';
import { openServices, type SignedServices } from '../support/signed.ts';

/**
 * Requests in a second over TLS, next to emulators of other object storages, where they are installed (`test/support/peers.ts`). All verify
 * a signature with each request. This service has what it acknowledged on the disk, the others do not wait for that.
 */

const user = useLocal();
const concurrency = 32;
const count = scale(500, 5000);
const rounds = scale(1, 5);
const entries = 200;
const content = randomBytes(4096);

let services: SignedServices;

/** What both are asked for, and the status that answers it. */
const works: readonly {
  readonly name: string;
  readonly ours: (number: number) => Promise<{ status: number }>;
  readonly theirs: (peer: Peer, number: number) => Promise<number>;
}[] = [
  {
    name: 'GET of 4 KiB over TLS, 32 at once',
    ours: (number) => services.send('storage', 'GET', `/demo/stor/many/${number % entries}`),
    theirs: (peer, number) => peer.get(`many/${number % entries}`),
  },
  {
    name: 'PUT of 4 KiB over TLS, 32 at once',
    ours: (number) => services.send('storage', 'PUT', `/demo/stor/puts/${number}`, { body: content }),
    theirs: (peer, number) => peer.put(`puts/${number}`, content),
  },
  {
    name: `listing of ${entries} entries over TLS, 32 at once`,
    ours: () => services.send('storage', 'GET', '/demo/stor/many'),
    theirs: (peer) => peer.list('many'),
  },
];

async function demand(asked: Promise<number>): Promise<void> {
  const status = await asked;
  if (status >= 300) throw new Error(`answered ${status}`);
}

async function measure(ask: (number: number) => Promise<number>): Promise<number> {
  const { rate } = await measureLoad({ count, concurrency }, (number) => demand(ask(number)));
  return rate;
}

describe.runIf(peerPrograms.some(({ isInstalled }) => isInstalled))('next to others', () => {
  beforeAll(async () => {
    services = await openServices(user.local, concurrency);
    for (const name of ['many', 'puts'])
      await services.send('storage', 'PUT', `/demo/stor/${name}`, { headers: { 'content-type': 'application/json; type=directory' } });
    for (let number = 0; number < entries; number += 1)
      await services.send('storage', 'PUT', `/demo/stor/many/${number}`, { body: content });
  });
  afterAll(async () => {
    await services.close();
  });

  describe.each(peerPrograms.filter(({ isInstalled }) => isInstalled))('$name', (program) => {
    let peer: Peer;
    beforeAll(async () => {
      peer = await program.start(user, concurrency);
      for (const name of ['many', 'puts']) await demand(peer.make(name));
      for (let number = 0; number < entries; number += 1) await demand(peer.put(`many/${number}`, content));
    });
    afterAll(async () => {
      await peer.stop();
    });

    test.each(works)('$name', { timeout: 600_000 }, async ({ name, ours, theirs }) => {
      const rates: [number[], number[]] = [[], []];
      for (let round = 0; round <= rounds; round += 1) {
        const each = [
          await measure(async (number) => (await ours(number)).status),
          await measure((number) => theirs(peer, number)),
        ] as const;
        if (round > 0) each.forEach((rate, side) => rates[side]?.push(rate));
      }
      const [mine, others] = [median(rates[0]), median(rates[1])];
      const figure = { ours: `${Math.round(mine)}/s`, theirs: `${Math.round(others)}/s`, ratio: mine / others };
      report('bench', {
        name: `${name}; ${program.name} ${program.readVersion()}`,
        ...figure,
        ...(program.least !== undefined && { least: program.least }),
      });
    });
  });
});
