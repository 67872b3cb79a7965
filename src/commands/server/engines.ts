import type { Context } from '../../cli/command.ts';
import { readInput } from '../../cli/input.ts';
import { filePath, text, type Values, withTopic } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { assertSecret } from './secret-file.ts';

/** Options for the database, for every command of `server`. */

const databaseVariable = 'CLOUD_SERVER_DATABASE';

export const databaseOptions = withTopic('engines', {
  database: text(`PostgreSQL database, without a password; ${databaseVariable} by default`, { placeholder: 'URL' }),
  databaseFile: filePath('Read the URL of the database, which may contain a password, from this file'),
});

async function checkUrl(given: string, url: string): Promise<void> {
  const { findAddressProblem } = await import('../../server/store/postgres/address.ts');
  const found = findAddressProblem(url);
  if (found !== undefined) throw new UsageError(`${given}: ${found.problem}`, { hint: found.hint });
}

/** Variables of libpq that decide about encryption, and the parameters of the URL that replace them. `pg` reads the others itself. */
const tlsVariables = [
  ['PGSSLMODE', 'sslmode'],
  ['PGSSLROOTCERT', 'sslrootcert'],
  ['PGSSLCERT', 'sslcert'],
  ['PGSSLKEY', 'sslkey'],
] as const;

/** Adds what variables of libpq say about encryption. */
function addVariables(url: string, env: Context['world']['env']): string {
  // A socket of this machine is never encrypted.
  const host = new URL(url).hostname === '' && !new URL(url).searchParams.has('host') ? (env['PGHOST'] ?? '') : '';
  if (host.startsWith('/')) return `${url}${url.includes('?') ? '&' : '?'}host=${encodeURIComponent(host)}`;
  const added = tlsVariables.flatMap(([variable, name]) => {
    const value = env[variable] ?? '';
    return value === '' || new URL(url).searchParams.has(name) ? [] : [`${name}=${encodeURIComponent(value)}`];
  });
  return added.length === 0 ? url : `${url}${url.includes('?') ? '&' : '?'}${added.join('&')}`;
}

/**
 * Reads the URL of the database.
 * @throws {UsageError} without a PostgreSQL URL, when others can read its file, or when the command line contains a password, which all users of the machine can see
 */
export async function readDatabase({ world }: Context, { database, databaseFile }: Values<typeof databaseOptions>): Promise<string> {
  const complete = async (given: string, url: string): Promise<string> => {
    const completed = addVariables(url, world.env);
    await checkUrl(given, completed);
    return completed;
  };
  if (database !== undefined && databaseFile !== undefined) throw new UsageError('give one of --database and --database-file');
  if (database !== undefined) {
    await checkUrl('--database', database);
    const { password, searchParams } = new URL(database);
    if (password === '' && !searchParams.has('password')) return complete('--database', database);
    throw new UsageError('--database contains a password, which every user of this machine can read', {
      hint: `put the URL into a private file and give --database-file FILE, or set ${databaseVariable}, or put the password into PGPASSFILE`,
    });
  }
  if (databaseFile !== undefined) assertSecret(world, '--database-file', databaseFile);
  const given = databaseFile === undefined ? databaseVariable : `--database-file ${databaseFile}`;
  const url = databaseFile === undefined ? world.env[databaseVariable] : (await readInput(world, databaseFile)).toString().trim();
  if (url === undefined || url === '') {
    if (databaseFile !== undefined) throw new UsageError(`${given}: is empty`);
    throw new UsageError('no database is given', {
      hint: `--database postgresql://USER@HOST/NAME, --database-file FILE, or the variable ${databaseVariable}`,
    });
  }
  await checkUrl(given, url);
  return complete(given, url);
}
