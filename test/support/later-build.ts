import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEnvironment, root, version } from './release.ts';

/**
 * The release after this one, as a build of this code that knows one step more: the step adds what a step may add, a table, columns with a
 * default in the tables that are written most, and an index.
 */
export interface LaterBuild {
  readonly program: string;
  readonly version: string;
  remove(): void;
}

const step = `
async function addLater(db: Kysely<never>): Promise<void> {
  await db.schema.createTable('later').addColumn('id', 'text', (column) => column.primaryKey()).execute();
  for (const table of ['entries', 'jobs', 'job_tasks', 'uploads', 'gateways', 'garbage'])
    await sql\`alter table \${sql.table(table)} add column later text not null default 'later'\`.execute(db);
  await sql\`create index entries_later on entries (later, name)\`.execute(db);
}
(steps as ((db: Kysely<never>) => Promise<void>)[]).push(addLater);
`;

/** Builds it in a folder of its own. */
export function buildLater(): LaterBuild {
  const folder = mkdtempSync(join(tmpdir(), 'cloud-later-'));
  const later = version.replace(/^\d+/, '99');
  for (const name of ['src', '.config', 'tsconfig.json', 'LICENSE']) cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const described = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object;
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...described, version: later }));
  appendFileSync(join(folder, 'src/server/store/migrations.ts'), step);
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: folder, env: createEnvironment(folder), stdio: 'pipe' });
  return {
    program: join(folder, 'dist/start.js'),
    version: later,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
