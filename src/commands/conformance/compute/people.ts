import { section } from '../check.ts';
import { Skip } from '../outcome.ts';
import type { Shape } from '../shape.ts';
import { listOf, objectOf } from '../response.ts';
import { assertShape, createUser, idOf, invalid, lacking, makePassword, makeUser, missing, readWritten, remove } from './steps.ts';

const contact: Shape = {
  companyName: 'text',
  firstName: 'text',
  lastName: 'text',
  address: 'text',
  postalCode: 'text',
  city: 'text',
  state: 'text',
  country: 'text',
  phone: 'text',
};
const person: Shape = { id: 'uuid', login: 'text', email: 'text', created: 'date', updated: 'date' };

export const account = section('compute', '4 Account', {
  'get-account': {
    states: 'GetAccount returns 200 with the account (section 2)',
    reads: true,
    run: async (at) => {
      const shown = objectOf(at.expect(await at.compute('GET', '/my'), { status: 200 }));
      assertShape(at, [shown], person, contact);
      at.assert(shown['login'] === at.account, `the login is ${String(shown['login'])}`);
      if (shown['cloud_cns_enabled'] === undefined && shown['triton_cns_enabled'] !== undefined)
        at.decide('the field is triton_cns_enabled');
      else at.assert(['boolean', 'undefined'].includes(typeof shown['cloud_cns_enabled']), 'cloud_cns_enabled is neither true nor false');
    },
  },
  'get-account-missing': {
    states: 'GetAccount of an account that does not exist returns 404 ResourceNotFound',
    reads: true,
    run: async (at) =>
      at.expect(await at.compute('GET', '/conformance-of-nobody'), missing, {
        status: 403,
        decision: 'an unknown account in the path returns the same as a forbidden one',
      }),
  },
  'update-account': {
    states: 'UpdateAccount returns 200 with the account',
    run: async (at) => {
      // The address that the account has already: somebody's account must not change.
      const { email } = objectOf(at.expect(await at.compute('GET', '/my'), { status: 200 }));
      const shown = objectOf(at.expect(await at.compute('POST', '/my', { json: { email } }), { status: 200 }));
      at.assert(shown['email'] === email, `the e-mail address is ${String(shown['email'])}`);
    },
  },
  'account-limits': {
    states: 'GetAccountLimits returns 200 with a list of limits, each for ram, quota or machines',
    reads: true,
    run: async (at) => {
      const response = await at.compute('GET', '/my/limits');
      if (response.status === 404) throw new Skip('the service does not support limits');
      const limits = listOf(at.expect(response, { status: 200 }));
      assertShape(at, limits, { by: 'text', value: 'number', used: 'number' }, { check: 'text', os: 'text', image: 'text' });
      const areKnown = limits.every(({ by }) => ['ram', 'quota', 'machines'].includes(String(by)));
      at.assert(areKnown, 'a limit is for something else');
    },
  },
  'get-config': {
    states: 'GetConfig returns 200 with an object that may have default_network',
    reads: true,
    run: async (at) => {
      const config = objectOf(at.expect(await at.compute('GET', '/my/config'), { status: 200 }));
      assertShape(at, [config], {}, { default_network: 'text' });
    },
  },
  'update-config': {
    states: 'UpdateConfig returns 200 with the updated object',
    run: async (at) => {
      const { default_network: network } = objectOf(at.expect(await at.compute('GET', '/my/config'), { status: 200 }));
      if (typeof network !== 'string') throw new Skip('the account has no default_network to set');
      const shown = objectOf(at.expect(await at.compute('PUT', '/my/config', { json: { default_network: network } }), { status: 200 }));
      at.assert(shown['default_network'] === network, `default_network is ${String(shown['default_network'])}`);
    },
  },
});

export const users = section('compute', '4 Users', {
  'create-user': {
    states: 'CreateUser returns 201 with Location and the user, without a password',
    run: async (at) => {
      const json = { login: `${at.run}-c`, email: 'c@example.com', password: makePassword(at), city: 'Ghent' };
      const response = at.expect(await at.compute('POST', '/my/users', { json }), {
        status: 201,
        headers: { location: /\/users\/[^/]+$/u },
      });
      assertShape(at, [objectOf(response)], person, contact);
      const { city, password, cloud_cns_enabled: cns } = objectOf(response);
      at.assert(city === 'Ghent' && password === undefined && cns === undefined, response.body.toString());
    },
  },
  'create-user-missing': {
    states: 'CreateUser without login, email or password returns MissingParameter',
    run: async (at) => {
      const json = { login: `${at.run}-m`, email: 'm@example.com', password: makePassword(at) };
      for (const name of Object.keys(json))
        at.expect(await at.compute('POST', '/my/users', { json: { ...json, [name]: undefined } }), lacking);
    },
  },
  'create-user-twice': {
    states: 'CreateUser with an existing login returns InvalidArgument',
    run: async (at) => {
      const { login } = await at.need(makeUser);
      at.expect(await at.compute('POST', '/my/users', { json: { login, email: 'x@example.com', password: makePassword(at) } }), invalid);
    },
  },
  'list-users': {
    states: 'ListUsers returns 200 with a list of users (section 2)',
    reads: true,
    run: async (at) => {
      assertShape(at, listOf(at.expect(await at.compute('GET', '/my/users'), { status: 200 })), person, contact);
    },
  },
  'get-user': {
    states: 'GetUser returns 200 with the user, by id or login',
    run: async (at) => {
      const { id, login } = await at.need(makeUser);
      const shown = objectOf(await readWritten(at, `/my/users/${String(id)}`));
      at.assert(shown['login'] === login && shown['roles'] === undefined, JSON.stringify(shown));
      at.assert(objectOf(await readWritten(at, `/my/users/${String(login)}`))['id'] === id, `${String(login)} is another user`);
    },
  },
  'get-user-membership': {
    states: 'GetUser with membership has roles and default_roles',
    run: async (at) => {
      const shown = objectOf(await readWritten(at, `/my/users/${idOf(await at.need(makeUser))}?membership=true`));
      assertShape(at, [shown], { roles: 'list', default_roles: 'list' });
    },
  },
  'get-user-missing': {
    states: 'GetUser of a user that does not exist returns 404 ResourceNotFound',
    reads: true,
    run: async (at) => at.expect(await at.compute('GET', '/my/users/conformance-of-nobody'), missing),
  },
  'update-user': {
    states: 'UpdateUser returns 200 with the updated user',
    run: async (at) => {
      const path = `/my/users/${idOf(await at.need(makeUser))}`;
      const shown = objectOf(at.expect(await at.compute('POST', path, { json: { city: 'Bruges' } }), { status: 200 }));
      at.assert(shown['city'] === 'Bruges', `city is ${String(shown['city'])}`);
      await readWritten(at, path, ({ city }) => city === 'Bruges');
    },
  },
  'change-password': {
    states: 'ChangeUserPassword with a matching confirmation returns 200 with the user',
    run: async (at) => {
      const { id } = await at.need(makeUser);
      const password = makePassword(at);
      const json = { password, password_confirmation: password };
      const shown = objectOf(at.expect(await at.compute('POST', `/my/users/${String(id)}/change_password`, { json }), { status: 200 }));
      at.assert(shown['id'] === id && shown['password'] === undefined, 'the response is not the user, or contains the password');
    },
  },
  'change-password-mismatch': {
    states: 'ChangeUserPassword with a different confirmation returns InvalidArgument, without one of the two MissingParameter',
    run: async (at) => {
      const path = `/my/users/${idOf(await at.need(makeUser))}/change_password`;
      const [password, other] = [makePassword(at), makePassword(at)];
      at.expect(await at.compute('POST', path, { json: { password, password_confirmation: other } }), invalid);
      at.expect(await at.compute('POST', path, { json: { password } }), lacking);
      at.expect(await at.compute('POST', path, { json: { password_confirmation: password } }), lacking);
    },
  },
  'delete-user': {
    states: 'DeleteUser returns 204, and the user no longer exists',
    run: async (at) => {
      const path = `/my/users/${idOf(await createUser(at, 'd'))}`;
      await remove(at, path);
    },
  },
});
