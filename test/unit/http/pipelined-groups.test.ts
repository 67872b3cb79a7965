import { once } from 'node:events';
import { connect, createServer, Socket, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WholeBody, type HttpResponse } from '../../../src/api/message.ts';
import { Connection } from '../../../src/http/connection.ts';
import { PipelinedExchange } from '../../../src/http/pipelined-exchange.ts';
import { PipelinedRequests } from '../../../src/http/pipelined-requests.ts';
import type { CreateHeaders } from '../../../src/http/send.ts';

const url = new URL('http://127.0.0.1');

/** Makes rounds of 16 requests to a service for whose responses these milliseconds are waited; the size of the groups of each round. */
async function measureGroups(waits: readonly number[]): Promise<number[][]> {
  let waited = 0;
  let groups: number[] = [];
  const response: HttpResponse = { status: 200, headers: {}, body: new WholeBody(Buffer.alloc(0)) };
  const requests = new PipelinedRequests(
    {
      takeIdle: () => new Connection(new Socket(), false),
      waitForOne: () => Promise.reject(new Error('one is idle')),
      release: () => undefined,
      printFields: () => '\r\n',
      sendTogether: (_, all, _fields, leave) => {
        groups.push(all.length);
        for (const { settle } of all) settle(response);
        leave({ unanswered: [], waited });
      },
    },
    18,
  );
  const rounds: number[][] = [];
  for (waited of waits) {
    groups = [];
    const headers: CreateHeaders = () => Promise.resolve({});
    const send = async (name: string): Promise<void> => {
      if (requests.mayTakeNext()) await requests.send({ url, target: `/${name}`, etag: name, size: 1, signal: undefined }, headers);
      else groups.push(1);
    };
    await Promise.all(Array.from({ length: 16 }, (_, number) => send(`n${number}`)));
    rounds.push(groups);
  }
  return rounds;
}

test('the number of requests that share a connection follows the time of the service', async () => {
  const rounds = await measureGroups([5, 5, 5, 5, 5, ...Array.from({ length: 12 }, () => 0)]);
  const largest = rounds.map((groups) => Math.max(...groups));
  // After 128 single requests, two are tried together, then more each time.
  expect(largest).toEqual([8, 8, 2, 1, 1, 1, 1, 1, 1, 1, 1, 3, 8, 8, 8, 8, 8]);
  // A service that is slower for a few responses, or pauses once for long, is not slow.
  for (const wait of [0.5, 100]) expect(await measureGroups([0, wait, 0, wait])).toEqual(Array.from({ length: 4 }, () => [8, 8]));
});

/** Receives two responses on one connection, with something between them; the milliseconds that count as waiting. */
async function measureWait(between: () => Promise<void> | void): Promise<number | undefined> {
  const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  let waited: number | undefined;
  const requests = ['a', 'b'].map((etag) => ({
    request: { url, target: `/${etag}`, etag, size: 0, signal: undefined },
    headers: () => Promise.resolve({}),
    settle: () => undefined,
  }));
  const exchange = new PipelinedExchange(new Connection(socket, false), requests, '\r\n', 60_000, (_, outcome) => {
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
  // Not a time by the clock: on a busy machine, this process may have hardly a moment without work in it.
  const idle = async (): Promise<void> => {
    const before = performance.eventLoopUtilization().idle;
    while (performance.eventLoopUtilization().idle - before < 10) await sleep(5);
  };
  expect(await measureWait(block)).toBe(0);
  expect(await measureWait(idle)).toBeGreaterThanOrEqual(10);
});
