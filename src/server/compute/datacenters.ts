import type { compute } from '../../api/compute.ts';
import type { InputOf, ResultOf } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { Answer, type Call } from '../http/handler.ts';
import { apiVersions } from '../http/version.ts';

function collectUrls(rows: readonly { name: string; url: string }[]): Record<string, string> {
  return Object.fromEntries(rows.map(({ name, url }) => [name, url]));
}

/** Ping. */
export async function ping(): Promise<ResultOf<typeof compute.ping>> {
  return { ping: 'pong', cloudapi: { versions: [...apiVersions] } };
}

/** ListDatacenters. */
export async function listDatacenters(_: InputOf<typeof compute.listDatacenters>, { store }: Call): Promise<Record<string, string>> {
  return collectUrls(await store.db.selectFrom('datacenters').selectAll().orderBy('name').execute());
}

/** GetDatacenter: a redirection with a body shaped like an error. */
export async function getDatacenter(
  { name }: InputOf<typeof compute.getDatacenter>,
  { store }: Call,
): Promise<Answer<{ code: string; message: string }>> {
  const row = await store.db.selectFrom('datacenters').selectAll().where('name', '=', name).executeTakeFirst();
  if (row === undefined) throw new ApiError(404, 'ResourceNotFound', `datacenter ${name} does not exist`);
  return new Answer({ code: 'ResourceMoved', message: `${name} is at ${row.url}` }, { headers: { location: row.url } });
}

/** ListServices. */
export async function listServices(_: InputOf<typeof compute.listServices>, { store }: Call): Promise<Record<string, string>> {
  return collectUrls(await store.db.selectFrom('services').selectAll().orderBy('name').execute());
}
