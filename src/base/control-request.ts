import { request } from 'node:http';
import { shortenSocketPath } from './control-socket.ts';

/**
 * Requests an operation of the control interface of the service on a data directory.
 * @throws {NodeJS.ErrnoException} when no service listens; {LocalError} when the path of the socket is too long
 */
export async function sendControl(dataDir: string, name: string, input: object): Promise<{ status: number; text: string }> {
  const { path, close } = shortenSocketPath(dataDir);
  const body = JSON.stringify(input);
  const answered = new Promise<{ status: number; text: string }>((resolve, reject) => {
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
  return answered.finally(close);
}
