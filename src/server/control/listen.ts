import { once } from 'node:events';
import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { controlOperations, type ControlInput, type ControlName, type ControlResult, type InputKind } from '../../api/control.ts';
import { BodyTooLarge, readAll } from '../../api/message.ts';
import { controlFolderOf, controlSocketOf, shortenSocketPath } from '../../base/control-socket.ts';
import { CloudError, NotFoundError, UsageError } from '../../base/errors.ts';
import { isDiskFull } from '../store/disk-full.ts';

/** Handlers of the operations of the control interface. Errors they throw are sent to the client with message and hint. */
export type ControlHandlers = {
  readonly [N in ControlName]: (input: ControlInput<N>) => Promise<ControlResult<N>> | ControlResult<N>;
};

/** The control interface while it listens. */
export interface ControlListener {
  close(): Promise<void>;
}

/** Maximum size of an input in bytes. */
const largestInput = 1024 * 1024;

/** Kinds of input by their `typeof`. */
const types: Readonly<Record<InputKind, string>> = { text: 'string', number: 'number', flag: 'boolean' };

async function readInput(incoming: IncomingMessage): Promise<unknown> {
  const bytes = await readAll(incoming, largestInput).catch((error: unknown) => {
    if (!(error instanceof BodyTooLarge)) throw error;
    throw new UsageError(`an input of the control interface has at most ${largestInput} bytes`);
  });
  if (bytes.length === 0) return {};
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch {
    throw new UsageError('the input of the control interface is not JSON');
  }
}

/** @throws {UsageError} for input that the operation does not declare */
function checkInput(name: ControlName, input: unknown): Readonly<Record<string, unknown>> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) throw new UsageError('the input must be a JSON object');
  const declared: Readonly<Record<string, InputKind>> = controlOperations[name].input;
  for (const [key, value] of Object.entries(input)) {
    const kind = Object.hasOwn(declared, key) ? declared[key] : undefined;
    if (kind === undefined) throw new UsageError(`${name} has no input "${key}"; it has ${Object.keys(declared).join(', ')}`);
    if (typeof value !== types[kind] || (typeof value === 'number' && !Number.isFinite(value)))
      throw new UsageError(`${key} of ${name} must be a ${types[kind]}`);
  }
  return { ...input };
}

function findOperation({ method, url = '/' }: IncomingMessage): ControlName {
  const name = url.slice(1);
  const isKnown = (word: string): word is ControlName => Object.hasOwn(controlOperations, word);
  if (isKnown(name) && method === 'POST') return name;
  throw new NotFoundError(`the control interface has no ${method ?? ''} ${url}`, {
    hint: `it has POST /NAME of ${Object.keys(controlOperations).join(', ')}; the service and this program may be of different releases`,
  });
}

async function perform(handlers: ControlHandlers, incoming: IncomingMessage): Promise<unknown> {
  const name = findOperation(incoming);
  const input = checkInput(name, await readInput(incoming));
  return await (handlers[name] as (checked: object) => unknown)(input);
}

function writeJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length, connection: 'close' }).end(body);
}

async function answer(
  handlers: ControlHandlers,
  log: (line: string) => void,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    writeJson(response, 200, await perform(handlers, incoming));
  } catch (error) {
    if (response.destroyed || response.headersSent) return void response.destroy();
    if (error instanceof CloudError) {
      const { code, message, hint } = error;
      writeJson(response, 400, { code, message, hint });
      return;
    }
    if (isDiskFull(error)) return writeJson(response, 507, { code: 'LocalError', message: 'the disk of the service is full' });
    log(`control: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    writeJson(response, 500, { code: 'LocalError', message: 'the control interface failed', hint: 'see cloud local logs' });
  }
}

/** Creates the folder for its owner only, and removes the socket of a killed service: no other process uses the data directory. */
function prepareFolder(dataDir: string): void {
  const control = controlFolderOf(dataDir);
  if (lstatSync(control, { throwIfNoEntry: false })?.isDirectory() === true) chmodSync(control, 0o700);
  else mkdirSync(control, { mode: 0o700 });
  rmSync(controlSocketOf(dataDir), { force: true });
}

async function bind(server: ReturnType<typeof createServer>, dataDir: string): Promise<void> {
  const { path, close } = shortenSocketPath(dataDir);
  await once(server.listen(path), 'listening').finally(close);
  chmodSync(controlSocketOf(dataDir), 0o600);
}

/**
 * Lets programs of the same user change the behaviour of the service through a socket in its data directory. If the socket cannot be
 * created, the services run without it, and the log says why.
 */
export async function listenForControl(
  dataDir: string,
  handlers: ControlHandlers,
  log: (line: string) => void,
): Promise<ControlListener | undefined> {
  const server = createServer((incoming, response) => void answer(handlers, log, incoming, response));
  try {
    prepareFolder(dataDir);
    await bind(server, dataDir);
  } catch (error) {
    log(`no control interface: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          rmSync(controlFolderOf(dataDir), { recursive: true, force: true });
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
