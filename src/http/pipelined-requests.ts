import type { HttpResponse } from '../api/message.ts';
import type { Connection } from './connection.ts';
import type { Listed, Outgoing } from './send.ts';

/** A request that may share a connection with others, and who waits for its response. */
export interface PipelinedRequest {
  readonly outgoing: Outgoing;
  readonly listed: Listed;
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (error: unknown) => void;
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

/** Number of requests that are sent one by one before two are sent together again, to see whether the service is faster now. */
const singlesBeforeTrial = 128;

/** What has become of requests that were sent together. */
export interface Outcome {
  /** Those that are to be sent again. */
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
  /** Sends one request over a connection of its own. */
  sendAlone(outgoing: Outgoing): Promise<HttpResponse>;
  /** The same over this connection, which nobody else uses. */
  sendOver(connection: Connection, outgoing: Outgoing): Promise<HttpResponse>;
  /** Sends several. */
  sendTogether(connection: Connection, requests: readonly PipelinedRequest[], leave: (outcome: Outcome) => void): void;
}

/**
 * Sends requests to one host together that are made in the same turn of the event loop. After a failure they are sent one by one, until the
 * program ends: the service, or a proxy before it, may not support pipelining.
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

  send(outgoing: Outgoing, listed: Listed): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ outgoing, listed, resolve, reject });
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
    while (this.#waiting.length > 0) {
      const idle = this.#connections.takeIdle();
      if (idle === undefined) break;
      this.#sendNext(idle);
    }
    if (this.#waiting.length === 0) return;
    const wanted = Math.max(this.#countGroups(), Math.ceil((this.#waiting.length + this.#inProgress) / this.#together));
    for (let missing = wanted - this.#inUse - this.#asked; missing > 0; missing -= 1) this.#askForConnection();
  }

  #askForConnection(): void {
    const signal = this.#waiting[0]?.outgoing.signal;
    this.#asked += 1;
    this.#connections.waitForOne(signal).then(
      (connection) => {
        this.#asked -= 1;
        if (this.#waiting.length > 0) this.#sendNext(connection);
        else this.#connections.release(connection);
        if (this.#waiting.length > 0) this.#schedule();
      },
      (error: unknown) => {
        this.#asked -= 1;
        for (const { reject } of signal?.aborted === true ? this.#takeAll(signal) : this.#takeNext()) reject(error);
        if (this.#waiting.length > 0) this.#schedule();
      },
    );
  }

  /** Number of the waiting requests, from this one on, that may share a connection. */
  #countTogether(start: number): number {
    const etags = new Set<string>();
    const signal = this.#waiting[start]?.outgoing.signal;
    for (let at = start; at < this.#waiting.length && etags.size < this.#together; at += 1) {
      const { outgoing, listed } = this.#waiting[at] as PipelinedRequest;
      if (outgoing.signal !== signal || etags.has(listed.etag)) break;
      etags.add(listed.etag);
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
  #takeAll(signal: AbortSignal): PipelinedRequest[] {
    const taken = this.#waiting.filter(({ outgoing }) => outgoing.signal === signal);
    this.#waiting = this.#waiting.filter(({ outgoing }) => outgoing.signal !== signal);
    return taken;
  }

  #sendNext(connection: Connection): void {
    const requests = this.#takeNext();
    const [first] = requests;
    if (first && requests.length === 1) {
      this.#connections.sendOver(connection, first.outgoing).then(first.resolve, first.reject);
      return;
    }
    this.#inUse += 1;
    this.#inProgress += requests.length;
    this.#connections.sendTogether(connection, requests, ({ unanswered, waited }) => {
      this.#inUse -= 1;
      this.#inProgress -= requests.length;
      if (unanswered.length > 0) this.#giveUp();
      else if (waited !== undefined) this.#adapt(waited, requests.length);
      for (const { outgoing, resolve, reject } of unanswered) this.#connections.sendAlone(outgoing).then(resolve, reject);
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  #giveUp(): void {
    this.#hasFailed = true;
    this.#together = 1;
  }

  /** Adapts the number of requests that are sent together to the wait for each of this many responses. */
  #adapt(waited: number, responses: number): void {
    this.#waited += (waited - this.#waited) * Math.min(1, responses / averaged);
    if (this.#waited > slowResponse) this.#together = Math.ceil(this.#together / 2);
    else if (!this.#hasFailed) this.#together = Math.min(this.#together + 1, this.#mostTogether);
  }
}
