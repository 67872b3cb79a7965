import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceName } from '../../api/operation.ts';
import { encodePath } from '../../client/request.ts';
import { InterruptedError } from '../../base/errors.ts';
import { Mismatch, Skip } from './outcome.ts';
import type { Given, Requests } from './requests.ts';
import { describeResponse, findDifference, type Response, type Wanted } from './response.ts';

/** What deployed services do in place of what is stated, and the decision that tells of it. */
export interface Deployed extends Wanted {
  readonly decision: string;
}

/** What every check of a run works with. */
export interface Probe {
  readonly requests: Requests;
  /** Login of the account. */
  readonly account: string;
  /** Beginning of the names of everything that the run makes. */
  readonly run: string;
  /** The profile is that of a sub-user: what it may not do is skipped. */
  readonly isSubUser: boolean;
  readonly isReadOnly: boolean;
  /** An instance of which an image may be made. */
  readonly machine: string | undefined;
  /** A datacenter from which an image may be imported, and the id of that image. */
  readonly foreignImage: readonly [datacenter: string, id: string] | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly interrupted: AbortSignal;
  /** Jobs and uploads that were made, which have no names of their own. */
  readonly kept: string[];
  /** What was made once for several checks, by the function that makes it. */
  readonly made: Map<unknown, Promise<unknown>>;
}

/** What one check works with. */
export interface At extends Probe {
  /** Decisions by which the service does something else than is stated. */
  readonly decisions: string[];
  /** A request to the compute service; `my` stands for the account. */
  compute(method: string, path: string, given?: Given): Promise<Response>;
  /** A request to the object storage. The path is percent-encoded here; `~~` is the account. */
  storage(method: string, path: string, given?: Given): Promise<Response>;
  /** Whole path of a name below the directory of the run, after the login. */
  path(name: string): string;
  /** Something that several checks need, made when the first needs it. @throws {Skip} when it could not be made */
  need<T>(make: (at: At) => Promise<T>): Promise<T>;
  /** @throws {Mismatch} when the response is neither what is stated nor one of the others */
  expect(response: Response, wanted: Wanted, ...others: readonly Deployed[]): Response;
  /** @throws {Mismatch} with what was found, unless it is so */
  assert(isSo: boolean, found: string): void;
  /** Notes that the service does what a decision says. */
  decide(decision: string): void;
  /** Asks again until something has come true. @throws {Mismatch} */
  until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T>;
}

/** Milliseconds for which something that takes time is waited for. */
const patience = 180_000;

async function pauseFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(milliseconds, undefined, { signal });
  } catch (error) {
    throw new InterruptedError('interrupted', { cause: error });
  }
}

/** Why something that a check needs is not there. */
function explainNeed(error: unknown): unknown {
  return error instanceof Mismatch ? new Skip(`needs what could not be made: ${error.message}`, { cause: error }) : error;
}

export function createAt(probe: Probe): At {
  const decisions: string[] = [];
  const { requests, account, run, made, now, interrupted } = probe;
  const send = (service: ServiceName, method: string, path: string, given?: Given): Promise<Response> => {
    if (requests.urls[service] === undefined) throw new Skip(`the profile has no address of the ${service} service`);
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
      if (probe.isSubUser && response.status === 403) throw new Skip(`the sub-user may not do this: ${describeResponse(response)}`);
      throw new Mismatch(difference);
    },
    assert: (isSo, found) => {
      if (!isSo) throw new Mismatch(found);
    },
    decide: (decision) => {
      if (!decisions.includes(decision)) decisions.push(decision);
    },
    until: async (what, ask) => {
      const end = now() + patience;
      for (let pause = 20; ; pause = Math.min(2000, pause * 1.5)) {
        const found = await ask();
        if (found !== undefined) return found;
        if (now() > end) throw new Mismatch(`${what}: not within ${patience / 1000} s`);
        await pauseFor(pause, interrupted);
      }
    },
  };
  return at;
}
