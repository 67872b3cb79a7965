import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { WholeBody, type HttpResponse } from '../../../src/api/message.ts';
import { Connection } from '../../../src/http/connection.ts';
import { PipelinedRequests } from '../../../src/http/pipelined-requests.ts';
import type { Outgoing } from '../../../src/http/send.ts';

/** Makes rounds of 16 requests to a service whose responses have these milliseconds between them; the size of the groups of each round. */
async function measureGroups(intervals: readonly number[]): Promise<number[][]> {
  let interval = 0;
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
        leave({ unanswered: [], interval });
      },
    },
    18,
  );
  const rounds: number[][] = [];
  for (interval of intervals) {
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
  expect(await measureGroups([0, 1.8, 0, 1.8])).toEqual(Array.from({ length: 4 }, () => [8, 8]));
});
