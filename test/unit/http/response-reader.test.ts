import { expect, test } from 'vitest';
import { ResponseReader } from '../../support/load-connections.ts';

const responses = [
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\na\r\n\r\n',
  'HTTP/1.1 204 No Content\r\nx-request-id: 1\r\n\r\n',
  'HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n2\r\n\r\n\r\n0\r\n\r\n',
  'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
];

test.each([1, 2, 3, 7, 64, 1000])('responses end where they end, in pieces of %i bytes', (size) => {
  const statuses: number[] = [];
  const reader = new ResponseReader((status) => statuses.push(status));
  const bytes = Buffer.from(responses.join(''));
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.subarray(at, at + size);
    reader.take(piece, piece.length);
  }
  expect(statuses).toEqual([200, 204, 404, 200]);
});

test('a response is over with its last byte, not before', () => {
  for (const response of responses) {
    const statuses: number[] = [];
    const reader = new ResponseReader((status) => statuses.push(status));
    const bytes = Buffer.from(response);
    reader.take(bytes, bytes.length - 1);
    expect(statuses).toEqual([]);
    reader.take(bytes.subarray(-1), 1);
    expect(statuses).toHaveLength(1);
  }
});
