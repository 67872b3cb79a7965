import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { compute } from '../../../src/api/compute.ts';
import type { Field } from '../../../src/api/fields.ts';
import type { Operation } from '../../../src/api/operation.ts';
import { storage } from '../../../src/api/storage.ts';
import { createMatcher } from '../../../src/server/http/match.ts';
import { parseTarget } from '../../../src/server/http/target.ts';

/** Title of the window, clearing it, a C1 control sequence, a turned writing direction, a bell, a line of its own. */
export const nasty = 'a\u001b]0;taken\u0007\u001b[2Jb\u009b31mc\u202edcba\r\nFAKE\u2028';
/** What a header can carry of that. */
const nastyHeader = 'a\u009b31mb\u0085c';

/** What must not come out at the other end. */
// oxlint-disable-next-line no-control-regex
export const raw = /\u001b\]|\u001b\[2J|[\u0000-\u0008\u000b\u000c\u007f-\u009f\u2028\u202e]|\r(?!\n)|^FAKE/mu;

/** A value of a field that is as it should be but for its texts. */
function fill(field: Field | undefined): unknown {
  if (field === undefined) return nasty;
  if (field.kind === 'number') return 1;
  if (field.kind === 'boolean') return true;
  if (field.kind === 'list') return [fill(field.item)];
  if (field.kind === 'object' && field.fields === undefined) return { [nasty]: nasty };
  if (field.kind === 'object') return Object.fromEntries(Object.entries(field.fields ?? {}).map(([name, each]) => [name, fill(each)]));
  return field.choices?.[0] ?? nasty;
}

const headers = {
  'role-tag': nastyHeader,
  'm-note': nastyHeader,
  etag: nastyHeader,
  'request-id': nastyHeader,
  location: nastyHeader,
  server: nastyHeader,
};
const match = { compute: createMatcher(compute), storage: createMatcher(storage) };

/** Ask about something that is a directory, and it is one: every listing has entries. */
function findOperation(service: 'compute' | 'storage', { method = '', url = '', headers: given }: IncomingMessage): Operation | undefined {
  try {
    const { candidates } = match[service](method, parseTarget(service, url), { 'content-type': given['content-type'] ?? '' });
    return (candidates.find(({ operation }) => operation.when.entry === 'directory') ?? candidates[0]).operation;
  } catch {
    return undefined;
  }
}

function succeed(operation: Operation | undefined, { method, url }: IncomingMessage, response: ServerResponse): void {
  if (operation === undefined) return refuse(response);
  if (method === 'HEAD')
    return void response
      .writeHead(200, { ...headers, 'content-type': 'application/x-json-stream; type=directory', 'result-set-size': '2' })
      .end();
  const { result, shape, status } = operation;
  if (result === 'json')
    return void response.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(fill(shape)));
  if (result === 'records') {
    // Entries of a directory cannot have a slash, and a listing that brings nothing new has ended.
    const isDeep = (url ?? '').split('/').length > 5;
    const records = [...(isDeep ? [] : [fill(shape)]), { ...(fill(shape) as object), name: `${nasty}2`, type: 'object' }];
    response.writeHead(200, { ...headers, 'content-type': 'application/x-json-stream; type=directory', 'result-set-size': '2' });
    return void response.end(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  }
  if (result === 'lines')
    return void response.writeHead(200, { ...headers, 'result-set-size': '1' }).end(`/demo/stor/${nasty.replaceAll(/[\r\n]/gu, '')}\n`);
  response.writeHead(status, headers).end();
}

function refuse(response: ServerResponse): void {
  response.writeHead(409, { ...headers, 'content-type': 'application/json' });
  response.end(JSON.stringify({ code: nasty, message: nasty, errors: [{ field: nasty, code: nasty, message: nasty }] }));
}

/** Both services by one server that puts control characters wherever text can be. */
export async function serveHostile(
  mode: 'answers' | 'refuses',
): Promise<{ computeUrl: string; storUrl: string; count: () => number; close: () => Promise<void> }> {
  let count = 0;
  const start = async (service: 'compute' | 'storage') => {
    const server = createServer((incoming, response) => {
      count += 1;
      incoming
        .resume()
        .on('end', () => (mode === 'refuses' ? refuse(response) : succeed(findOperation(service, incoming), incoming, response)));
    });
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    return server;
  };
  const servers = [await start('compute'), await start('storage')];
  const [computeUrl = '', storUrl = ''] = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => new Promise((done) => (server.close(done), server.closeAllConnections()))));
  };
  return { computeUrl, storUrl, count: () => count, close };
}
