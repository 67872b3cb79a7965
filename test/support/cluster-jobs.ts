import { awaitResponse, beginRequest, readText, type GatewayHome, type GatewayProcess } from './gateway-process.ts';

/** Jobs of `alice`, asked through any of several gateways that may be killed meanwhile. */

export interface JobState {
  readonly state: string;
  readonly problem?: string;
  readonly stats: Readonly<Record<'errors' | 'outputs' | 'retries' | 'tasks' | 'tasksDone', number>>;
}

export interface ClusterJobs {
  /** A request to one gateway after the other until one answers it with less than 500. @returns status and body */
  ask(method: string, path: string, body?: string): Promise<{ status: number; text: string; location: string }>;
  /** Puts objects whose contents are their names, each with an end of line. @returns their paths */
  putAll(names: readonly string[]): Promise<string[]>;
  create(phases: unknown): Promise<string>;
  /** Adds distinct inputs, each batch through another gateway, and ends the input; each is added once, whatever is killed. */
  feed(id: string, inputs: readonly string[], batch: number): Promise<void>;
  state(id: string): Promise<JobState>;
  /** Contents of all outputs, one after the other. */
  readOutputs(id: string): Promise<{ paths: string[]; text: string }>;
}

/** Milliseconds for which somebody must answer. */
const timeoutMs = 60_000;

/** @param gateways those that run, as they are at each request */
export function createClusterJobs(home: GatewayHome, gateways: () => readonly GatewayProcess[]): ClusterJobs {
  let turn = 0;

  async function tryAsk(method: string, path: string, body?: string): Promise<Awaited<ReturnType<ClusterJobs['ask']>> | undefined> {
    const all = gateways();
    turn += 1;
    const gateway = all[turn % all.length];
    if (!gateway) return undefined;
    try {
      const type = path.endsWith('/jobs') && method === 'POST' ? 'application/json' : 'text/plain';
      const request = beginRequest(home, gateway.told, method, path, { headers: { 'content-type': type } });
      request.end(body);
      const response = await awaitResponse(request);
      const text = await readText(response);
      return { status: response.statusCode ?? 0, text, location: response.headers.location ?? '' };
    } catch {
      return undefined;
    }
  }

  async function ask(method: string, path: string, body?: string): ReturnType<ClusterJobs['ask']> {
    for (const end = Date.now() + timeoutMs; ;) {
      const answer = await tryAsk(method, path, body);
      if (answer && answer.status < 500) return answer;
      if (Date.now() > end) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async function require(method: string, path: string, body?: string): ReturnType<ClusterJobs['ask']> {
    const answer = await ask(method, path, body);
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  }

  const readLines = async (path: string): Promise<string[]> => (await require('GET', path)).text.split('\n').slice(0, -1);

  return {
    ask,
    async putAll(names) {
      const paths = names.map((name) => `/alice/stor/${name}`);
      const waiting = [...names.entries()];
      const put = async (): Promise<void> => {
        for (let next = waiting.pop(); next; next = waiting.pop()) await require('PUT', paths[next[0]] ?? '', `${next[1]}\n`);
      };
      await Promise.all(Array.from({ length: 8 }, put));
      return paths;
    },
    create: async (phases) => (await require('POST', '/alice/jobs', JSON.stringify({ phases }))).location.split('/').at(-1) ?? '',
    async feed(id, inputs, batch) {
      for (let at = 0; at < inputs.length;) {
        const lines = inputs.slice(at, at + batch);
        const answer = await tryAsk('POST', `/alice/jobs/${id}/live/in`, lines.map((line) => `${line}\n`).join(''));
        // Without an answer it may have been added: a batch is whole or not at all.
        if (answer?.status === 204 || (await readLines(`/alice/jobs/${id}/live/in`)).includes(lines[0] ?? '')) at += lines.length;
      }
      await require('POST', `/alice/jobs/${id}/live/in/end`);
    },
    state: async (id) => JSON.parse((await require('GET', `/alice/jobs/${id}/live/status`)).text) as JobState,
    async readOutputs(id) {
      const paths = await readLines(`/alice/jobs/${id}/live/out`);
      let text = '';
      for (const path of paths) text += (await require('GET', path)).text;
      return { paths, text };
    },
  };
}
