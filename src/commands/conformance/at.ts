import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceName } from '../../api/operation.ts';
import { encodePath } from '../../client/request.ts';
import { InterruptedError } from '../../base/errors.ts';
import { Mismatch, Skip } from './outcome.ts';
import type { Given, Requests } from './requests.ts';
import { describeResponse, findDifference, type Response, type Wanted } from './response.ts';

/** How deployed services differ from the statement, and the decision that documents the difference. */
export interface Deployed extends Wanted {
  readonly decision: string;
}

/** Shared by all checks of a run. */
export interface Probe {
  readonly requests: Requests;
  /** Login of the account. */
  readonly account: string;
  /** Prefix of the names of everything that the run creates. */
  readonly run: string;
  /** True for the profile of a sub-user: checks that are forbidden to it are skipped. */
  readonly isSubUser: boolean;
  readonly isReadOnly: boolean;
  /** An instance from which an image may be created. */
  readonly machine: string | undefined;
  /** A datacenter from which an image may be imported, and the id of that image. */
  readonly foreignImage: readonly [datacenter: string, id: string] | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly interrupted: AbortSignal;
  /** Jobs and uploads that the run created; they have no names of their own. */
  readonly kept: string[];
  /** Resources that several checks share, by the function that creates them. */
  readonly made: Map<unknown, Promise<unknown>>;
}

/** The context of one check. */
export interface At extends Probe {
  /** Decisions that the service follows instead of the statement. */
  readonly decisions: string[];
  /** Sends a request to the compute service; `my` stands for the account. */
  compute(method: string, path: string, given?: Given): Promise<Response>;
  /** Sends a request to the object storage. The path is percent-encoded here; `~~` is the account. */
  storage(method: string, path: string, given?: Given): Promise<Response>;
  /** Path of a name below the directory of the run, from the login on. */
  path(name: string): string;
  /** Returns a resource that several checks need; the first check creates it. @throws {Skip} when it could not be created */
  need<T>(make: (at: At) => Promise<T>): Promise<T>;
  /** @throws {Mismatch} when the response fits neither `wanted` nor one of the others */
  expect(response: Response, wanted: Wanted, ...others: readonly Deployed[]): Response;
  /** @throws {Mismatch} with `found` when the condition is false */
  assert(isSo: boolean, found: string): void;
  /** Records that the service follows a decision instead of the statement. */
  decide(decision: string): void;
  /** Repeats a request until it returns a value. @throws {Mismatch} after 180 s */
  until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T>;
}

/** Timeout of `until`, milliseconds. */
const timeoutMs = 180_000;

async function pauseFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(milliseconds, undefined, { signal });
  } catch (error) {
    throw new InterruptedError('interrupted', { cause: error });
  }
}

/** Turns a mismatch in the creation of a shared resource into a skip. */
function explainNeed(error: unknown): unknown {
  return error instanceof Mismatch ? new Skip(`a required resource could not be created: ${error.message}`, { cause: error }) : error;
}

export function createAt(probe: Probe): At {
  const decisions: string[] = [];
  const { requests, account, run, made, now, interrupted } = probe;
  const send = (service: ServiceName, method: string, path: string, given?: Given): Promise<Response> => {
    if (requests.urls[service] === undefined) throw new Skip(`the profile has no address for the ${service} service`);
    return requests.send(service, method, path, given);
  };
  const at: At = {
    ...probe,
    decisions,
    compute: (method, path, given) => send('compute', method, path, given),
    storage: (method, path, given) => send('storage', method, encodePath(path.replace(/^~~/, `/${account}`)), given),
    path: (name) => `/${account}/stor/${run}/${name}`,
    need: async <T>(make: (other: At) => Promise<T>) => {
      const making = made.get(make) ?? make(createAt(probe));
      made.set(make, making);
      try {
        return (await making) as T;
      } catch (error) {
        throw explainNeed(error);
      }
    },
    expect: (response, wanted, ...others) => {
      const difference = findDifference(response, wanted);
      if (difference === undefined) return response;
      const other = others.find((each) => findDifference(response, each) === undefined);
      if (other) {
        at.decide(other.decision);
        return response;
      }
      if (probe.isSubUser && response.status === 403)
        throw new Skip(`the sub-user is not allowed to do this: ${describeResponse(response)}`);
      throw new Mismatch(difference);
    },
    assert: (isSo, found) => {
      if (!isSo) throw new Mismatch(found);
    },
    decide: (decision) => {
      if (!decisions.includes(decision)) decisions.push(decision);
    },
    until: async (what, ask) => {
      const end = now() + timeoutMs;
      for (let pause = 20; ; pause = Math.min(2000, pause * 1.5)) {
        const found = await ask();
        if (found !== undefined) return found;
        if (now() > end) throw new Mismatch(`${what}: not true after ${timeoutMs / 1000} s`);
        await pauseFor(pause, interrupted);
      }
    },
  };
  return at;
}
