import { compute } from '../api/compute.ts';
import { group } from '../cli/command.ts';
import { adviseOnName, createAbsentError } from '../cli/named.ts';
import { getCommand, listCommand } from '../cli/shapes.ts';
import { withHint } from '../base/error-copies.ts';
import { isMissing } from '../base/errors.ts';

interface Place {
  name: string;
  url: string;
}

/** Names and URLs as rows, sorted by name. */
function toPlaces(urls: Readonly<Record<string, unknown>>): Place[] {
  return Object.entries(urls)
    .map(([name, url]) => ({ name, url: String(url) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

const columns = ['name', 'url'];

export const datacenters = group({
  summary: 'Datacenters of the cloud',
  commands: {
    list: listCommand({
      summary: 'List the datacenters and the addresses of their services',
      aliases: ['ls'],
      columns,
      id: 'name',
      fetch: async ({ compute, account }) => toPlaces(await compute.listDatacenters({ account })),
      examples: [
        { line: 'cloud datacenters list', help: 'Names and addresses' },
        { line: 'cloud datacenters list -o name', help: 'Only the names' },
      ],
    }),
    get: getCommand({
      summary: 'Show the address of a datacenter',
      description: 'The service responds with a redirect, which is shown but not followed.',
      argument: 'name',
      help: 'Name of the datacenter',
      values: 'datacenter',
      id: 'name',
      listed: columns,
      fetch: async (context, name) => {
        try {
          const { headers } = await context.compute.answer(compute.getDatacenter, { account: context.account, name });
          return { name, url: headers['location'] ?? '' };
        } catch (error) {
          if (!isMissing(error)) throw error;
          const names = Object.keys(await context.compute.listDatacenters({ account: context.account })).toSorted();
          throw withHint(error, adviseOnName(name, names, 'cloud datacenters list'), `datacenter "${name}" does not exist`);
        }
      },
      examples: [
        { line: 'cloud datacenters get local', help: 'Its name and address' },
        { line: 'cloud --url "$(cloud datacenters get local-2 --jq .url)" images list', help: 'The images of that datacenter' },
      ],
    }),
  },
});

export const services = group({
  summary: 'Services of the cloud and their addresses',
  commands: {
    list: listCommand({
      summary: 'List the services and their addresses',
      perDatacenter: true,
      aliases: ['ls'],
      columns,
      id: 'name',
      fetch: async ({ compute, account }) => toPlaces(await compute.listServices({ account })),
      examples: [
        { line: 'cloud services list', help: 'Names and addresses' },
        { line: 'cloud services list -j', help: 'As JSON' },
      ],
    }),
    get: getCommand({
      summary: 'Show the address of a service',
      perDatacenter: true,
      argument: 'name',
      help: 'Name of the service',
      values: 'service',
      id: 'name',
      listed: columns,
      fetch: async ({ compute, account }, name) => {
        const places = toPlaces(await compute.listServices({ account }));
        const found = places.find((place) => place.name === name);
        if (found) return found;
        throw createAbsentError('service', name, places, 'cloud services list');
      },
      examples: [
        { line: 'cloud services get storage', help: 'Its name and address' },
        { line: 'cloud services get storage --jq .url', help: 'Only the address' },
      ],
    }),
  },
});
