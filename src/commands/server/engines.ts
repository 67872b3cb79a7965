import type { Context } from '../../cli/command.ts';
import { readInput } from '../../cli/input.ts';
import { filePath, text, type Values, withTopic } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';

/** Options for the database, for every command of `server`. */

const databaseVariable = 'CLOUD_SERVER_DATABASE';

export const databaseOptions = withTopic('engines', {
  database: text(`PostgreSQL database, without a password; ${databaseVariable} by default`, { placeholder: 'URL' }),
  databaseFile: filePath('Read the URL of the database, which may contain a password, from this file'),
});

function parseUrl(given: string, url: string): URL {
  if (URL.canParse(url) && ['postgresql:', 'postgres:'].includes(new URL(url).protocol)) return new URL(url);
  throw new UsageError(`${given}: must be the URL of a PostgreSQL database`, {
    hint: 'for example postgresql://cloud@db.example.com/cloud, or postgresql:///cloud?host=/run/postgresql for a socket',
  });
}

/**
 * Reads the URL of the database.
 * @throws {UsageError} without a PostgreSQL URL, or when the command line contains a password, which all users of the machine can see
 */
export async function readDatabase({ world }: Context, { database, databaseFile }: Values<typeof databaseOptions>): Promise<string> {
  if (database !== undefined && databaseFile !== undefined) throw new UsageError('give one of --database and --database-file');
  if (database !== undefined) {
    const { password, searchParams } = parseUrl('--database', database);
    if (password === '' && !searchParams.has('password')) return database;
    throw new UsageError('--database contains a password, which every user of this machine can read', {
      hint: `put the URL into a private file and give --database-file FILE, or set ${databaseVariable}, or put the password into PGPASSFILE`,
    });
  }
  const given = databaseFile === undefined ? databaseVariable : `--database-file ${databaseFile}`;
  const url = databaseFile === undefined ? world.env[databaseVariable] : (await readInput(world, databaseFile)).toString().trim();
  if (url === undefined || url === '') {
    if (databaseFile !== undefined) throw new UsageError(`${given}: is empty`);
    throw new UsageError('no database is given', {
      hint: `--database postgresql://USER@HOST/NAME, --database-file FILE, or the variable ${databaseVariable}`,
    });
  }
  parseUrl(given, url);
  return url;
}
