import type { compute } from '../../api/compute.ts';
import type { InputOf, ResultOf } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { Answer, type Call } from '../http/handler.ts';
import { apiVersions } from '../http/version.ts';

/** URLs by name, sorted by name. The process's own addresses take precedence over those in the database. */
function collectUrls(rows: readonly { name: string; url: string }[], own: Readonly<Record<string, string>> = {}): Record<string, string> {
  const urls = [...rows.map(({ name, url }): [string, string] => [name, url]), ...Object.entries(own)];
  return Object.fromEntries([...new Map(urls)].toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

export async function ping(): Promise<ResultOf<typeof compute.ping>> {
  return { ping: 'pong', cloudapi: { versions: [...apiVersions] } };
}

export async function listDatacenters(
  _: InputOf<typeof compute.listDatacenters>,
  { store, settings }: Call,
): Promise<Record<string, string>> {
  return collectUrls(await store.db.selectFrom('datacenters').selectAll().execute(), settings.addresses?.().datacenters);
}

/** GetDatacenter: a redirect with a body in the format of an error. */
export async function getDatacenter(
  { name }: InputOf<typeof compute.getDatacenter>,
  { store, settings }: Call,
): Promise<Answer<{ code: string; message: string }>> {
  const row = await store.db.selectFrom('datacenters').selectAll().where('name', '=', name).executeTakeFirst();
  const own = settings.addresses?.().datacenters ?? {};
  const url = Object.hasOwn(own, name) ? own[name] : row?.url;
  if (url === undefined) throw new ApiError(404, 'ResourceNotFound', `datacenter ${name} does not exist`);
  return new Answer({ code: 'ResourceMoved', message: `${name} is at ${url}` }, { headers: { location: url } });
}

export async function listServices(_: InputOf<typeof compute.listServices>, { store, settings }: Call): Promise<Record<string, string>> {
  return collectUrls(await store.db.selectFrom('services').selectAll().execute(), settings.addresses?.().services);
}
