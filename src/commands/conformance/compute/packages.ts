import { readingSection } from '../check.ts';
import { Skip } from '../outcome.ts';
import type { Shape } from '../shape.ts';
import { objectOf } from '../response.ts';
import { assertShape, list, missing, nobody } from './steps.ts';

const pkg: Shape = { id: 'uuid', name: 'text', memory: 'number', disk: 'number', swap: 'number', lwps: 'number', vcpus: 'number' };
const pkgRest: Shape = { version: 'text', group: 'text', description: 'text', disks: 'list', flexible_disk: 'flag', default: 'flag' };

export const packages = readingSection('compute', '4 Packages', {
  'list-packages': {
    states: 'ListPackages returns 200 with a list of packages (section 2)',
    run: async (at) => {
      assertShape(at, await list(at, '/my/packages'), pkg, pkgRest);
    },
  },
  'list-packages-filter': {
    states: 'ListPackages accepts filters, all of which must match',
    run: async (at) => {
      const [first] = await list(at, '/my/packages');
      if (!first) throw new Skip('no package exists');
      const given = ['name', 'version', 'group', 'memory', 'disk', 'swap', 'lwps', 'vcpus'].filter((name) => first[name] !== undefined);
      const found = await list(at, '/my/packages', Object.fromEntries(given.map((name) => [name, String(first[name])])));
      at.assert(
        found.some(({ id }) => id === first['id']) && found.every((each) => given.every((name) => each[name] === first[name])),
        'the list is another',
      );
      at.assert(
        (await list(at, '/my/packages', { name: String(first['name']), memory: '1' })).length === 0,
        'a package that matches only one of two filters is listed',
      );
    },
  },
  'get-package': {
    states: 'GetPackage returns 200 with the package, by id or name',
    run: async (at) => {
      const [first] = await list(at, '/my/packages');
      if (!first) throw new Skip('no package exists');
      for (const name of [first['id'], first['name']]) {
        const shown = objectOf(at.expect(await at.compute('GET', `/my/packages/${encodeURIComponent(String(name))}`), { status: 200 }));
        at.assert(shown['name'] === first['name'], `${String(name)} is ${String(shown['name'])}`);
      }
      at.expect(await at.compute('GET', `/my/packages/${nobody}`), missing);
    },
  },
});
