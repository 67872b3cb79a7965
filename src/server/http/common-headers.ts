import { headerAliases } from '../../api/aliases.ts';
import type { Headers } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';
import type { Exchange } from './exchange.ts';
import { codeVersion } from './version.ts';

/** A response header under its name in the specification, and under the name of deployed services if that is another one. */
export function writeBoth(name: string, value: string): Headers {
  const deployed = headerAliases.find(({ specified }) => specified === name)?.deployed;
  return deployed === undefined ? { [name]: value } : { [name]: value, [deployed]: value };
}

/** Lets pages of other origins read compute responses. Their requests are signed one by one, so no cookie can be abused. */
const crossOrigin: Headers = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
  'access-control-allow-headers':
    'Accept, Accept-Version, Authorization, Content-Length, Content-MD5, Content-Type, Date, Api-Version, Role-Tag',
  'access-control-expose-headers': 'Api-Version, Content-MD5, Date, Request-Id, Response-Time, Role-Tag, Server',
};

function allowOrigin(origin: string | undefined): Headers {
  return origin === undefined ? { 'access-control-allow-origin': '*' } : { 'access-control-allow-origin': origin, vary: 'origin' };
}

/** What the headers of every response depend on. */
export interface Common {
  readonly service: ServiceName;
  /** Name of the datacenter, shown in a header of every compute response. */
  readonly datacenter: string;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** The clock that dates of requests are compared with, and that the services' own dates are of; `now` when absent. */
  readonly requestTime?: () => number;
}

let latest = { second: NaN, text: '' };

/** An HTTP date, which has a resolution of seconds: formatting it takes longer than the other headers of a response. */
function formatDate(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  if (latest.second !== second) latest = { second, text: new Date(milliseconds).toUTCString() };
  return latest.text;
}

/** The headers of every response. @param started when the request arrived, by `performance.now()` */
export function writeCommonHeaders(options: Common, { requestId, version, request }: Exchange, started: number): Headers {
  const duration = String(Math.round(performance.now() - started));
  // Clients use it to find out how far their own clock is off.
  const date = formatDate((options.requestTime ?? options.now ?? Date.now)());
  if (options.service === 'storage') {
    return {
      date,
      server: 'Manta/2',
      'x-request-id': requestId,
      'x-response-time': duration,
      'x-server-name': options.datacenter,
    };
  }
  return {
    date,
    server: `cloudapi/${codeVersion}`,
    'api-version': version,
    'request-id': requestId,
    'response-time': duration,
    ...writeBoth('cloud-datacenter-name', options.datacenter),
    ...crossOrigin,
    ...allowOrigin(request.headers['origin']),
  };
}
