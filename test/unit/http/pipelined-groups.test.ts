import { once } from 'node:events';
import { connect, createServer, Socket, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WholeBody, type HttpResponse } from '../../../src/api/message.ts';
import { Connection } from '../../../src/http/connection.ts';
import { PipelinedExchange } from '../../../src/http/pipelined-exchange.ts';
import { PipelinedRequests } from '../../../src/http/pipelined-requests.ts';
import type { Outgoing } from '../../../src/http/send.ts';

/** Makes rounds of 16 requests to a service for whose responses these milliseconds are waited; the size of the groups of each round. */
async function measureGroups(waits: readonly number[]): Promise<number[][]> {
  let waited = 0;
  let groups: number[] = [];
  const response: HttpResponse = { status: 200, headers: {}, body: new WholeBody(Buffer.alloc(0)) };
  const sendOne = (): Promise<HttpResponse> => {
    groups.push(1);
    return Promise.resolve(response);
  };
  const requests = new PipelinedRequests(
    {
      takeIdle: () => new Connection(new Socket(), false),
      waitForOne: () => Promise.reject(new Error('one is idle')),
      release: () => undefined,
      sendAlone: sendOne,
      sendOver: sendOne,
      sendTogether: (_, all, leave) => {
        groups.push(all.length);
        for (const { resolve } of all) resolve(response);
        leave({ unanswered: [], waited });
      },
    },
    18,
  );
  const rounds: number[][] = [];
  for (waited of waits) {
    groups = [];
    const send = (name: string): Promise<HttpResponse> => {
      const outgoing: Outgoing = { method: 'GET', url: new URL(`http://127.0.0.1/${name}`), headers: {} };
      return requests.mayTakeNext() ? requests.send(outgoing, { etag: name, size: 1 }) : sendOne();
    };
    await Promise.all(Array.from({ length: 16 }, (_, number) => send(`n${number}`)));
    rounds.push(groups);
  }
  return rounds;
}

test('the number of requests that share a connection follows the time of the service', async () => {
  const rounds = await measureGroups([5, 5, 5, 5, 5, ...Array.from({ length: 8 }, () => 0)]);
  const largest = rounds.map((groups) => Math.max(...groups));
  // After 128 single requests, two are tried together, then more each time.
  expect(largest.slice(0, 9)).toEqual([8, 1, 1, 1, 1, 1, 1, 1, 1]);
  expect(rounds[9]).toEqual([2, 3, 4, 5, 2]);
  expect(largest.slice(10).every((size) => size === 8)).toBe(true);
  // A service that is slower for a few responses is not slow.
  expect(await measureGroups([0, 0.5, 0, 0.5])).toEqual(Array.from({ length: 4 }, () => [8, 8]));
});

/** Receives two responses on one connection, with something between them; the milliseconds that count as waiting. */
async function measureWait(between: () => Promise<void> | void): Promise<number | undefined> {
  const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  let waited: number | undefined;
  const requests = ['a', 'b'].map((etag) => ({
    outgoing: { method: 'GET', url: new URL(`http://127.0.0.1/${etag}`), headers: {} },
    listed: { etag, size: 0 },
    resolve: () => undefined,
    reject: () => undefined,
  }));
  const exchange = new PipelinedExchange(new Connection(socket, false), requests, 60_000, (_, outcome) => {
    waited = outcome.waited;
  });
  const receive = (etag: string): boolean => exchange.receive(Buffer.from(`HTTP/1.1 200 OK\r\nETag: ${etag}\r\nContent-Length: 0\r\n\r\n`));
  receive('a');
  await between();
  receive('b');
  socket.destroy();
  server.close();
  return waited;
}

test('the time in which this process is busy is not taken for the time of the service', async () => {
  const block = (): void => {
    for (const until = performance.now() + 20; performance.now() < until;);
  };
  expect(await measureWait(block)).toBe(0);
  expect(await measureWait(() => sleep(20))).toBeGreaterThan(5);
});
