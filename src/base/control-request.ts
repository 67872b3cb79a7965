import { request } from 'node:http';
import type { ShortPath } from './control-socket.ts';

/** Requests an operation of the control interface. @param body its input as JSON @throws {NodeJS.ErrnoException} when no service listens */
export function sendControl({ path }: ShortPath, name: string, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: path, method: 'POST', path: `/${name}`, headers: { 'content-length': Buffer.byteLength(body) } });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.end(body);
  });
}
