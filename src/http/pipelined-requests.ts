import type { Headers, HttpResponse } from '../api/message.ts';
import type { Connection } from './connection.ts';
import type { CreateHeaders, ListedRequest } from './send.ts';

/** A request that may share a connection with others, and who waits for its response. */
export interface PipelinedRequest {
  readonly request: ListedRequest;
  readonly headers: CreateHeaders;
  /** Called with the response; without one if the object has to be requested by itself. */
  readonly settle: (response?: HttpResponse) => void;
}

/** Maximum number of requests that are sent together: more gain nothing. */
const mostTogether = 8;

/**
 * Milliseconds of waiting for a response above which fewer requests are sent together. Services handle the requests of a connection one
 * after another: one that takes long for each is faster with more connections. The time in which this process is busy does not count, or a
 * slow disk would be taken for a slow service.
 */
const slowResponse = 0.3;

/** Number of responses over which their waits are averaged: a service that another program delays for once is not slow. */
const averaged = 32;

/** The longest wait that counts, milliseconds: a single pause of a service, such as for its garbage, is not taken for many. */
const mostCounted = 2 * slowResponse;

/** Number of requests that are sent one by one before two are sent together again, to see whether the service is faster now. */
const singlesBeforeTrial = 128;

/** What has become of requests that were sent together. */
export interface Outcome {
  /** Those without a response. */
  readonly unanswered: readonly PipelinedRequest[];
  /** Milliseconds in which this process had nothing to do from one response to the next, on average; undefined with fewer than two. */
  readonly waited: number | undefined;
}

/** The connections to one host. */
interface Connections {
  takeIdle(): Connection | undefined;
  /** Waits for a connection until the signal aborts. */
  waitForOne(signal: AbortSignal | undefined): Promise<Connection>;
  release(connection: Connection): void;
  /** The headers of a request, with the empty line after them. */
  printFields(headers: Headers): string;
  /** Sends requests with these headers over this connection, which nobody else uses. */
  sendTogether(connection: Connection, requests: readonly PipelinedRequest[], fields: string, leave: (outcome: Outcome) => void): void;
}

/**
 * Sends requests to one host together that are made in the same turn of the event loop. After a failure no more are taken, until the program
 * ends: the service, or a proxy before it, may not support pipelining.
 */
export class PipelinedRequests {
  readonly #connections: Connections;
  /** With fewer than two connections, the service would wait for this client, and this client for the service. */
  readonly #mostTogether: number;
  /** Number of requests to be sent together. */
  #together: number;
  /** Milliseconds of waiting for a response, averaged. */
  #waited = 0;
  /** Number of requests since the last that were sent together. */
  #singles = 0;
  #hasFailed = false;
  #waiting: PipelinedRequest[] = [];
  #isScheduled = false;
  /** Number of connections that have been asked for. */
  #asked = 0;
  /** Number of connections in use, and of requests on them. */
  #inUse = 0;
  #inProgress = 0;

  /** @param mostConnections maximum number of connections */
  constructor(connections: Connections, mostConnections: number) {
    this.#connections = connections;
    this.#mostTogether = Math.max(1, Math.min(mostTogether, Math.floor((mostConnections - 1) / 2)));
    this.#together = this.#mostTogether;
  }

  /** True if the next request is to be sent with others. */
  mayTakeNext(): boolean {
    if (this.#together > 1) return true;
    this.#singles += 1;
    if (this.#hasFailed || this.#mostTogether === 1 || this.#singles < singlesBeforeTrial) return false;
    this.#singles = 0;
    this.#waited = slowResponse;
    this.#together = 2;
    return true;
  }

  send(request: ListedRequest, headers: CreateHeaders): Promise<HttpResponse | undefined> {
    return new Promise((settle) => {
      this.#waiting.push({ request, headers, settle });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendWaiting();
    });
  }

  #sendWaiting(): void {
    while (this.#isWorthSending()) {
      const idle = this.#connections.takeIdle();
      if (idle === undefined) break;
      this.#sendNext(idle);
    }
    if (!this.#isWorthSending()) return;
    const wanted = Math.max(this.#countGroups(), Math.ceil((this.#waiting.length + this.#inProgress) / this.#together));
    for (let missing = wanted - this.#inUse - this.#asked; missing > 0; missing -= 1) this.#askForConnection();
  }

  /** False while more requests may follow that can be sent together with the waiting ones: those of the responses that arrive next. */
  #isWorthSending(): boolean {
    return this.#waiting.length >= this.#together / 2 || (this.#waiting.length > 0 && this.#inProgress === 0);
  }

  #askForConnection(): void {
    const signal = this.#waiting[0]?.request.signal;
    this.#asked += 1;
    this.#connections.waitForOne(signal).then(
      (connection) => {
        this.#asked -= 1;
        if (this.#waiting.length > 0) this.#sendNext(connection);
        else this.#connections.release(connection);
        if (this.#waiting.length > 0) this.#schedule();
      },
      () => {
        this.#asked -= 1;
        for (const { settle } of signal?.aborted === true ? this.#takeAll(signal) : this.#takeNext()) settle();
        if (this.#waiting.length > 0) this.#schedule();
      },
    );
  }

  /** Number of the waiting requests, from this one on, that may share a connection. */
  #countTogether(start: number): number {
    const etags = new Set<string>();
    const first = this.#waiting[start];
    for (let at = start; at < this.#waiting.length && etags.size < this.#together; at += 1) {
      const { request, headers } = this.#waiting[at] as PipelinedRequest;
      const { etag, signal } = request;
      if (signal !== first?.request.signal || headers !== first?.headers || etags.has(etag)) break;
      etags.add(etag);
    }
    return etags.size;
  }

  /** Number of connections that the waiting requests need at once. */
  #countGroups(): number {
    let groups = 0;
    for (let at = 0; at < this.#waiting.length; at += this.#countTogether(at)) groups += 1;
    return groups;
  }

  /** The next requests for one connection. */
  #takeNext(): PipelinedRequest[] {
    return this.#waiting.splice(0, this.#countTogether(0));
  }

  /** All waiting requests with this signal. */
  #takeAll(aborted: AbortSignal): PipelinedRequest[] {
    const taken = this.#waiting.filter(({ request }) => request.signal === aborted);
    this.#waiting = this.#waiting.filter(({ request }) => request.signal !== aborted);
    return taken;
  }

  #sendNext(connection: Connection): void {
    const requests = this.#takeNext();
    this.#inUse += 1;
    this.#inProgress += requests.length;
    const leave = ({ unanswered, waited }: Outcome): void => {
      this.#inUse -= 1;
      this.#inProgress -= requests.length;
      if (unanswered.length > 0) this.#giveUp();
      else if (waited !== undefined) this.#adapt(waited, requests.length);
      for (const { settle } of unanswered) settle();
      if (this.#waiting.length > 0) this.#schedule();
    };
    const printing = requests[0]?.headers().then((headers) => this.#connections.printFields(headers));
    printing?.then(
      (fields) => this.#connections.sendTogether(connection, requests, fields, leave),
      // Requested by itself, each object fails with this error: the key cannot sign, or a role has characters that no header may have.
      () => {
        this.#connections.release(connection);
        leave({ unanswered: requests, waited: undefined });
      },
    );
  }

  #giveUp(): void {
    this.#hasFailed = true;
    this.#together = 1;
  }

  /** Adapts the number of requests that are sent together to the wait for each of this many responses. */
  #adapt(waited: number, responses: number): void {
    this.#waited += (Math.min(waited, mostCounted) - this.#waited) * Math.min(1, responses / averaged);
    if (this.#waited > slowResponse) this.#together = Math.ceil(this.#together / 2);
    else if (!this.#hasFailed) this.#together = Math.min(this.#together + 1, this.#mostTogether);
  }
}
