import { UsageError } from '../../base/errors.ts';
import { number, text } from '../../cli/parameters.ts';

/** Options for the address at which a gateway or a worker serves health checks and metrics. */
export const adminOptions = {
  adminPort: number('Port of /--live, /--ready and /--metrics', {
    range: [0, 65535],
    placeholder: 'PORT',
  }),
  adminHost: text('Admin address; this machine by default', { placeholder: 'ADDRESS' }),
};

/** Reads `adminOptions`; undefined without a port. @throws {UsageError} */
export function readAdmin({
  adminPort,
  adminHost,
}: {
  readonly adminPort: number | undefined;
  readonly adminHost: string | undefined;
}): { host: string; port: number } | undefined {
  if (adminPort !== undefined) return { port: adminPort, host: adminHost ?? '127.0.0.1' };
  if (adminHost === undefined) return undefined;
  throw new UsageError('--admin-host needs --admin-port', { hint: 'add --admin-port PORT' });
}
