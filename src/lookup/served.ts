import { headerAliases } from '../api/aliases.ts';
import type { Headers } from '../api/message.ts';

/** What the headers of a response tell about the service, and what its rules can compare. */
export interface Served {
  /** Time of the response by the clock of the service, milliseconds since the epoch. */
  now?: number | undefined;
  datacenter?: string | undefined;
}

/** Name of the datacenter, under its header in the specification or in deployed services. */
export function readDatacenter(headers: Headers): string | undefined {
  const deployed = headerAliases.find(({ specified }) => specified === 'cloud-datacenter-name')?.deployed ?? '';
  return headers['cloud-datacenter-name'] ?? headers[deployed];
}

export function readServed(headers: Headers): Served {
  const date = Date.parse(headers['date'] ?? '');
  return { now: Number.isNaN(date) ? undefined : date, datacenter: readDatacenter(headers) };
}
