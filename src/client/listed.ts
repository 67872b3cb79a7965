import type { HttpResponse } from '../api/message.ts';
import type { Operation } from '../api/operation.ts';
import type { CreateHeaders, Listed, SendListed } from '../http/send.ts';
import { buildPath } from './request.ts';

interface AskListedOptions {
  /** Absent where each request is sent by itself. */
  readonly sendListed: SendListed | undefined;
  /** Path of the URL of the service, before the path of each request. */
  readonly basePath: string;
  readonly createHeaders: CreateHeaders;
  /** The signal that interrupts downloads. */
  readonly interruption: () => AbortSignal | undefined;
  /** Called after each response. */
  readonly noteResponse: () => void;
}

/** Creates the `askListed` of a client. */
export function createAskListed({ sendListed, basePath, createHeaders, interruption, noteResponse }: AskListedOptions) {
  const note = (response: HttpResponse | undefined): HttpResponse | undefined => {
    if (response !== undefined) noteResponse();
    return response;
  };
  return (
    operation: Operation,
    input: Readonly<Record<string, unknown>>,
    { etag, size }: Listed,
  ): Promise<HttpResponse | undefined> | undefined => {
    if (sendListed === undefined) return undefined;
    const target = basePath + buildPath(operation, input);
    return sendListed({ target, etag, size, signal: interruption() }, createHeaders)?.then(note);
  };
}
