import type { FinishedRequest } from '../../server/http/request-observer.ts';

/** The log of a gateway: one line for each message and each request. */
export interface GatewayLog {
  message(text: string): void;
  request(request: FinishedRequest): void;
  /** Writes the first line and then the lines that were held back; all later lines name the gateway. */
  begin(gateway: string, first: string): void;
  /** Writes the lines that were held back, because the gateway does not start. */
  giveUp(): void;
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

/** A request as words: time, service, operation, method, path, status, milliseconds, bytes in and out, id, caller, address. */
function describeRequest({ service, operation = '-', method, path, status, ms, bytesIn, bytesOut, ...rest }: FinishedRequest): string {
  const { requestId, account = '-', user, address, code, limit, aborted } = rest;
  const caller = user === undefined ? account : `${account}/${user}`;
  const line = `${service} ${operation} ${method} ${path} ${status} ${round(ms)}ms ${bytesIn}/${bytesOut} ${requestId} ${caller} ${address}`;
  const remarks = [code, limit && `limit ${limit}`, aborted && 'aborted'].filter((each) => typeof each === 'string');
  return [line, ...remarks].join(' ');
}

/**
 * Creates the log of a gateway: JSON, one object a line, or plain text.
 * @param write writes one line
 * @param now milliseconds since the epoch
 */
export function createGatewayLog(write: (line: string) => void, isJson: boolean, now: () => number): GatewayLog {
  let held: string[] | undefined = [];
  let gateway: string | undefined;
  const put = (line: string): void => {
    if (held === undefined) write(line);
    else held.push(line);
  };
  const release = (): void => {
    for (const line of held ?? []) write(line);
    held = undefined;
  };
  const add = (entry: object, text: string): void => {
    const time = new Date(now()).toISOString();
    put(isJson ? JSON.stringify({ time, ...entry, gateway }) : `${time} ${text}`);
  };
  return {
    message: (message) => add({ message }, message),
    request: (request) => {
      const { requestId, service, operation, method, path, status, code, limit, bytesIn, bytesOut, aborted, address, account, user } =
        request;
      const told = { service, operation, method, path, status, code, limit, ms: round(request.ms), bytesIn, bytesOut };
      add({ requestId, ...told, ...(aborted && { aborted }), address, account, user }, describeRequest(request));
    },
    begin: (id, first) => {
      gateway = id;
      write(isJson ? first : `${new Date(now()).toISOString()} ${first}`);
      release();
    },
    giveUp: release,
  };
}
