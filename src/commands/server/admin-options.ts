import { UsageError } from '../../base/errors.ts';
import { number, text } from '../../cli/parameters.ts';

/** Options that say where a gateway or a worker tells how it does. */
export const adminOptions = {
  adminPort: number('Port of /--live, /--ready and /--metrics', {
    range: [0, 65535],
    placeholder: 'PORT',
  }),
  adminHost: text('Address of it; this machine by default', { placeholder: 'ADDRESS' }),
};

/** What they say. @throws {UsageError} */
export function readAdmin({
  adminPort,
  adminHost,
}: {
  readonly adminPort: number | undefined;
  readonly adminHost: string | undefined;
}): { host: string; port: number } | undefined {
  if (adminPort !== undefined) return { port: adminPort, host: adminHost ?? '127.0.0.1' };
  if (adminHost === undefined) return undefined;
  throw new UsageError('--admin-host is of the admin port, and there is none', { hint: 'give --admin-port PORT too' });
}
