import type { ByteStream, Headers, HttpResponse } from '../api/message.ts';
import { command, group, type Context } from '../cli/command.ts';
import { readInput, readLong } from '../cli/input.ts';
import { choice, duration, filePath, flag, maybe, one, texts } from '../cli/parameters.ts';
import { checkBody, readError } from '../client/response.ts';
import { encodeQuery } from '../client/request.ts';
import { createContradiction, UsageError } from '../base/errors.ts';
import { bytes, record } from '../output/kinds.ts';
import { isListing } from '../transfer/entry-type.ts';
import { joinPages } from './api-pages.ts';
import { encodeTyped, explainPath, readPath, setMarker } from './api-path.ts';

const methods = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH'];

/** Returns `key=value` and `key:=json` fields as one object. */
async function readFields(context: Context, fields: readonly string[], jsonFields: readonly string[]): Promise<Record<string, unknown>> {
  const result: Record<string, unknown> = {};
  for (const given of fields) {
    const at = given.indexOf('=');
    if (at < 1) throw new UsageError(`-f ${given}: write KEY=VALUE`);
    result[given.slice(0, at)] = await readLong(context.world, given.slice(at + 1));
  }
  for (const given of jsonFields) {
    const [, key, value] = /^([^=]+?):?=(.*)$/s.exec(given) ?? [];
    if (key === undefined || value === undefined) throw new UsageError(`-F ${given}: write KEY=JSON`);
    try {
      result[key] = JSON.parse(value);
    } catch (error) {
      throw new UsageError(`-F ${given}: "${value}" is not JSON`, { hint: `for a string: -f ${key}=${value}`, cause: error });
    }
  }
  return result;
}

function readHeaders(given: readonly string[]): Headers {
  return Object.fromEntries(
    given.map((line) => {
      const at = line.indexOf(':');
      if (at < 1) throw new UsageError(`--header ${line}: write NAME: VALUE`);
      return [line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()];
    }),
  );
}

/** Yields the body, after the status line and headers as HTTP writes them if `isShown`. */
async function* printResponse(response: HttpResponse, body: ByteStream, isShown: boolean): AsyncGenerator<Uint8Array> {
  if (isShown) {
    const lines = [`HTTP/1.1 ${response.status}`, ...Object.entries(response.headers).map(([name, value]) => `${name}: ${value}`), '', ''];
    yield Buffer.from(lines.join('\r\n'));
  }
  yield* body;
}

/** The response is printed unchanged: only JSON can be filtered. @throws {UsageError} for options that would have no effect */
function assertUnformatted({ global }: Context): void {
  const { output, columns, sort } = global;
  const odd = columns !== undefined ? '--columns' : sort !== undefined ? '--sort' : undefined;
  const isJson = output === undefined || output === 'json' || (output === 'jsonl' && global.jq !== undefined);
  if (odd !== undefined || !isJson)
    throw new UsageError(`${odd ?? `-o ${output}`} has no effect: cloud api prints the response unchanged`, {
      hint: 'to select fields of JSON: --jq EXPR',
    });
}

const call = command({
  summary: 'Send any signed request and print the response unchanged',
  description:
    'PATH begins with a slash. In paths of the compute service my stands for your account; in paths of the object storage (--service stor) use ~~. Fields go into the query of a GET, and into a JSON body otherwise. An error response is printed to stderr and sets the exit code.',
  usage: '[METHOD] PATH',
  arguments: { method: one('Method; default GET', { values: 'api' }), path: maybe('Path and query', { values: 'api' }) },
  options: {
    field: texts('String field; @FILE reads the value from a file', { short: 'f', placeholder: 'KEY=VALUE' }),
    jsonField: texts('JSON field', { short: 'F', placeholder: 'KEY:=JSON' }),
    input: filePath('Read the body from a file; - for stdin'),
    header: texts('Additional header', { placeholder: 'NAME:VALUE' }),
    service: choice('Service of the request', ['compute', 'stor'], { placeholder: 'NAME' }),
    include: flag('Also print the status and headers', { short: 'i' }),
    paginate: flag('Read all pages of a listing of the object storage; print one record per line'),
  },
  run: async (invocation) => {
    assertUnformatted(invocation);
    const { args, options, world } = invocation;
    if (options.include && invocation.global.jq !== undefined) throw createContradiction('--jq', '--include');
    const method = args.path === undefined ? 'GET' : args.method.toUpperCase();
    const path = args.path ?? args.method;
    if (!methods.includes(method))
      throw new UsageError(`"${args.method}" is not an HTTP method`, { hint: `there are ${methods.join(', ')}` });
    if (args.path === undefined && methods.includes(path.toUpperCase()))
      throw new UsageError('missing argument PATH', { hint: `cloud api ${path.toUpperCase()} /my` });
    const isStorage = options.service === 'stor';
    const given = { path, isStorage, words: ['cloud', 'api', method] };
    const typed = readPath(invocation, given);
    if (options.paginate && method !== 'GET') throw new UsageError('--paginate is for GET');
    const fields = await readFields(invocation, options.field, options.jsonField);
    const hasFields = Object.keys(fields).length > 0;
    if (hasFields && options.input !== undefined) throw createContradiction('fields', '--input');
    const isQuery = method === 'GET' || method === 'HEAD';
    const query = isQuery && hasFields ? encodeQuery(fields).replace('?', typed.includes('?') ? '&' : '?') : '';
    const body =
      options.input === undefined
        ? hasFields && !isQuery
          ? Buffer.from(JSON.stringify(fields))
          : undefined
        : await readInput(world, options.input);
    const headers: Headers = {
      ...(body === undefined
        ? !isQuery && { 'content-length': '0' }
        : { 'content-type': 'application/json', 'content-length': String(body.length) }),
      ...readHeaders(options.header),
    };
    const client = isStorage ? invocation.storage : invocation.compute;
    const url = new URL((isStorage ? invocation.settings().storUrl : invocation.settings().url)?.value ?? '');
    const target = encodeTyped(typed) + query;
    const response = await client.request({ method, target, headers, body });
    // The response to HEAD has the MD5 of a body that is not sent.
    const checked = method === 'HEAD' ? response.body : checkBody(response, url);
    if (response.status >= 400) throw explainPath(await readError(response, { url, now: world.now }), given);
    if (!options.paginate || !isListing(response.headers)) return bytes(printResponse(response, checked, options.include));
    const pages = joinPages(checked, async (marker) => {
      const next = await client.request({ method, target: setMarker(target, marker), headers });
      if (next.status >= 400) throw await readError(next, { url, now: world.now });
      return checkBody(next, url);
    });
    return bytes(printResponse(response, pages, options.include));
  },
  examples: [
    { line: 'cloud api /my/images -f os=linux', help: 'A GET with a query' },
    { line: 'cloud api POST /my -f email=ops@example.com', help: 'A change' },
    { line: 'cloud api --service stor HEAD ~~/stor/notes.txt -i', help: 'Headers of an object' },
    { line: 'cloud api --service stor ~~/stor --paginate', help: 'List a directory of any size' },
  ],
});

const sign = command({
  summary: 'Create a pre-signed URL, which works for anyone until it expires',
  arguments: { path: one('Path and query', { values: 'api' }) },
  options: {
    method: texts('Method that the URL allows; default GET', { placeholder: 'METHOD' }),
    expires: duration('Time until the URL expires; default 1h'),
    service: choice('Service of the request', ['compute', 'stor'], { placeholder: 'NAME' }),
  },
  run: async (invocation) => {
    const { args, options, world } = invocation;
    const wanted = options.method.flatMap((word) => word.toUpperCase().split(','));
    const wrong = wanted.find((method) => !methods.includes(method));
    if (wrong !== undefined) throw new UsageError(`"${wrong}" is not an HTTP method`, { hint: `there are ${methods.join(', ')}` });
    const isStorage = options.service === 'stor';
    const typed = readPath(invocation, { path: args.path, isStorage, words: ['cloud', 'api', 'sign'] });
    const [path = '', ...search] = encodeTyped(typed).split('?');
    const allowed = wanted.length === 0 ? ['GET'] : [...new Set(wanted)];
    const lifetime = options.expires ?? 3_600_000;
    if (lifetime < 1000) throw new UsageError('--expires: the minimum is 1 second');
    const url = await invocation.presign(isStorage ? 'storage' : 'compute', {
      methods: allowed,
      path,
      query: [...new URLSearchParams(search.join('?'))],
      lifetime,
    });
    return record(
      { url, methods: allowed, expires: new Date(Math.floor((world.now() + lifetime) / 1000) * 1000).toISOString() },
      { id: 'url', columns: ['url', 'methods', 'expires'] },
    );
  },
  examples: [
    {
      line: 'curl -s --cacert "$(cloud profile get -j | jq -r .ca)" "$(cloud api sign /my/images -o name)"',
      help: 'List images without a key',
    },
    { line: 'cloud api sign /my/keys --method GET --method POST --expires 10m', help: 'Two methods, valid for ten minutes' },
  ],
});

export const api = group({ summary: 'Send any request, signed', commands: { call, sign }, fallback: 'call' });
