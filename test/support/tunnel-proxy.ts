import { connect, createServer, type AddressInfo } from 'node:net';
import type { Proxy } from '../../src/http/send.ts';

/** Starts an HTTP proxy on the loopback that opens a tunnel to wherever it is asked to. */
export async function startTunnelProxy(): Promise<{ proxy: Proxy; close: () => void }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (head) => {
      const [, host = '', port = ''] = /^CONNECT ([^:]+):(\d+) /u.exec(head.toString()) ?? [];
      const upstream = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.pipe(upstream).pipe(socket);
      });
      upstream.on('error', () => socket.destroy());
      socket.on('close', () => upstream.destroy());
    });
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return { proxy: { url, variable: 'http_proxy' }, close: () => void server.close() };
}
