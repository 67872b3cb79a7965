import { Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import { Connection, type ConnectionUser } from '../../../src/http/connection.ts';

/** A user that notes what it is told. */
function createUser(): ConnectionUser & { readonly told: string[] } {
  const told: string[] = [];
  return {
    told,
    receive: (bytes) => {
      told.push(`bytes ${Buffer.from(bytes).toString()}`);
      return bytes.length < 4;
    },
    fail: (error) => void told.push(`fail ${String(error)}`),
    finish: () => void told.push('finish'),
    close: () => void told.push('close'),
    expire: () => void told.push('expire'),
  };
}

test('only the exchange in progress is told of bytes, failure and end', () => {
  const socket = new Socket();
  const connection = new Connection(socket, false);
  const [first, second] = [createUser(), createUser()];
  connection.assign(first);
  expect([connection.receive(Buffer.from('one')), connection.receive(Buffer.from('many'))]).toEqual([true, false]);
  connection.assign(undefined);
  socket.emit('error', new Error('while idle'));
  connection.assign(second);
  expect(connection.receive(Buffer.from('two'))).toBe(true);
  socket.emit('error', new Error('broken'));
  socket.emit('end');
  socket.emit('close');
  expect(first.told).toEqual(['bytes one', 'bytes many']);
  expect(second.told).toEqual(['bytes two', 'fail Error: broken', 'finish', 'close']);
});

test('bytes that no request awaits end the connection', () => {
  const socket = new Socket();
  const connection = new Connection(socket, false);
  const user = createUser();
  connection.assign(user);
  connection.assign(undefined);
  expect(connection.receive(Buffer.from('HTTP/1.1 200 OK'))).toBe(false);
  expect(socket.destroyed).toBe(true);
  expect(user.told).toEqual([]);
});

test('a response is expected for its time from the last request on', () => {
  vi.useFakeTimers();
  const socket = new Socket();
  const connection = new Connection(socket, false);
  const user = createUser();
  connection.assign(user);
  connection.expectResponse(100);
  vi.advanceTimersByTime(99);
  connection.expectResponse(100);
  vi.advanceTimersByTime(99);
  expect(user.told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(user.told).toEqual(['expire']);
  connection.expectResponse(100);
  vi.advanceTimersByTime(100);
  expect(user.told).toEqual(['expire', 'expire']);
  connection.expectResponse(100);
  socket.emit('close');
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});
