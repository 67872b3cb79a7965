import { isRecord } from '../../../base/is-record.ts';
import { section } from '../check.ts';
import { listOf, objectOf } from '../response.ts';
import { assertShape, idOf, invalid, lacking, makeKey, makePolicy, makeRole, makeUser, missing, readWritten, remove } from './steps.ts';

const withLocation = { status: 201, headers: { location: /\/[^/]+$/u } };
const latest = { headers: { 'accept-version': '~9' } };

export const roles = section('compute', '4 Roles', {
  'create-role': {
    states:
      'CreateRole returns 201 with Location and the role: policies of id and name, members of type, id, login and default (section 2)',
    run: async (at) => {
      const [user, policy] = [await at.need(makeUser), await at.need(makePolicy)];
      const json = { name: `${at.run}-rc`, policies: [{ name: policy['name'] }], members: [{ type: 'subuser', login: user['login'] }] };
      const role = objectOf(at.expect(await at.compute('POST', '/my/roles', { json, ...latest }), withLocation));
      const [[first], [member]] = [role['policies'], role['members']] as [unknown[], unknown[]];
      const isPolicy = isRecord(first) && first['id'] === policy['id'] && first['name'] === policy['name'];
      const isMember = isRecord(member) && member['type'] === 'subuser' && member['id'] === user['id'] && member['login'] === user['login'];
      at.assert(isPolicy && isMember, JSON.stringify(role));
    },
  },
  'create-role-missing': {
    states: 'CreateRole without a name returns MissingParameter',
    run: async (at) => at.expect(await at.compute('POST', '/my/roles', { json: { members: [] } }), lacking),
  },
  'create-role-unknown': {
    states: 'CreateRole with an unknown member or policy returns InvalidArgument',
    run: async (at) => {
      const name = `${at.run}-ru`;
      at.expect(
        await at.compute('POST', '/my/roles', { json: { name, policies: [{ name: 'conformance-of-nothing' }] }, ...latest }),
        invalid,
      );
      const members = [{ type: 'subuser', login: 'conformance-of-nobody' }];
      at.expect(await at.compute('POST', '/my/roles', { json: { name, members }, ...latest }), invalid);
    },
  },
  'list-roles': {
    states: 'ListRoles returns 200 with a list of roles',
    reads: true,
    run: async (at) => {
      const roles = listOf(at.expect(await at.compute('GET', '/my/roles'), { status: 200 }));
      assertShape(at, roles, { id: 'uuid', name: 'text' }, { policies: 'list', members: 'list' });
    },
  },
  'get-role': {
    states: 'GetRole returns 200 with the role, by id or name',
    run: async (at) => {
      const { id, name } = await at.need(makeRole);
      at.assert(objectOf(await readWritten(at, `/my/roles/${String(id)}`))['name'] === name, 'the response has another role');
      at.assert(objectOf(await readWritten(at, `/my/roles/${String(name)}`))['id'] === id, 'the response has another role');
      at.expect(await at.compute('GET', '/my/roles/conformance-of-nothing'), missing);
    },
  },
  'update-role': {
    states: 'UpdateRole returns 200 with the updated role; its name may change, its id may not',
    run: async (at) => {
      const json = { name: `${at.run}-rn` };
      const { id } = objectOf(at.expect(await at.compute('POST', '/my/roles', { json, ...latest }), { status: 201 }));
      await readWritten(at, `/my/roles/${String(id)}`);
      const renamed = { json: { name: `${at.run}-rx` }, ...latest };
      const shown = objectOf(at.expect(await at.compute('POST', `/my/roles/${String(id)}`, renamed), { status: 200 }));
      at.assert(shown['id'] === id && shown['name'] === `${at.run}-rx`, JSON.stringify(shown));
    },
  },
  'delete-role': {
    states: 'DeleteRole returns 204, and the role no longer exists',
    run: async (at) => {
      const { id } = objectOf(at.expect(await at.compute('POST', '/my/roles', { json: { name: `${at.run}-rd` } }), { status: 201 }));
      await remove(at, `/my/roles/${String(id)}`);
    },
  },
  'delete-role-name': {
    states: 'DeleteRole accepts only the id of a role, not its name',
    run: async (at) => {
      const { name } = objectOf(at.expect(await at.compute('POST', '/my/roles', { json: { name: `${at.run}-rk` } }), { status: 201 }));
      at.expect(
        await at.compute('DELETE', `/my/roles/${String(name)}`),
        { status: [404, 409] },
        { status: 204, decision: 'DeleteRole also accepts the name of a role' },
      );
    },
  },
});

export const roleTags = section('compute', '4 Role tags', {
  'set-role-tags': {
    states: 'SetRoleTags returns 200 with the path and its role-tag',
    run: async (at) => {
      const [{ name: role }, key] = [await at.need(makeRole), await at.need(makeKey)];
      const path = `/my/keys/${String(key['fingerprint'])}`;
      const shown = objectOf(at.expect(await at.compute('PUT', path, { json: { 'role-tag': [role] } }), { status: 200 }));
      const tags = shown['role-tag'];
      at.assert(typeof shown['name'] === 'string' && Array.isArray(tags) && tags.join() === role, JSON.stringify(shown));
      at.expect(await at.compute('PUT', path, { json: { 'role-tag': [] } }), { status: 200 });
    },
  },
  'set-role-tags-missing': {
    states: 'SetRoleTags of a resource that does not exist returns 404 ResourceNotFound',
    run: async (at) => at.expect(await at.compute('PUT', '/my/keys/conformance-of-nothing', { json: { 'role-tag': [] } }), missing),
  },
  'set-role-tags-invalid': {
    states: 'SetRoleTags of a path that is not a resource returns InvalidArgument',
    run: async (at) =>
      at.expect(await at.compute('PUT', '/my/conformance-of-nothing', { json: { 'role-tag': [] } }), invalid, {
        ...missing,
        decision: 'a path that is not a resource returns 404',
      }),
  },
});

export const policies = section('compute', '4 Policies', {
  'create-policy': {
    states: 'CreatePolicy returns 201 with Location and the policy: id, name, rules and description (section 2)',
    run: async (at) => {
      const json = {
        name: `${at.run}-pc`,
        rules: ['CAN listmachines AND getmachine WHEN requesttime::time >= 08:00:00'],
        description: 'a text',
      };
      const policy = objectOf(at.expect(await at.compute('POST', '/my/policies', { json }), withLocation));
      const isRight = policy['name'] === json.name && JSON.stringify(policy['rules']) === JSON.stringify(json.rules);
      at.assert(isRight && policy['description'] === 'a text' && typeof policy['id'] === 'string', JSON.stringify(policy));
    },
  },
  'create-policy-rule': {
    states: 'CreatePolicy with an invalid rule is rejected',
    run: async (at) =>
      at.expect(await at.compute('POST', '/my/policies', { json: { name: `${at.run}-pw`, rules: ['MAY not a rule'] } }), invalid),
  },
  'list-policies': {
    states: 'ListPolicies returns 200 with a list of policies',
    reads: true,
    run: async (at) => {
      const policies = listOf(at.expect(await at.compute('GET', '/my/policies'), { status: 200 }));
      assertShape(at, policies, { id: 'uuid', name: 'text', rules: 'list' }, { description: 'text' });
    },
  },
  'get-policy': {
    states: 'GetPolicy returns 200 with the policy, by its id',
    run: async (at) => {
      const { id, name } = await at.need(makePolicy);
      at.assert(objectOf(await readWritten(at, `/my/policies/${String(id)}`))['name'] === name, 'the response has another policy');
      at.expect(await at.compute('GET', '/my/policies/4ef0ff4c-0a6f-4a9c-b0b5-2d5b9d5f0c53'), missing);
    },
  },
  'update-policy': {
    states: 'UpdatePolicy returns 200 with the updated policy',
    run: async (at) => {
      const path = `/my/policies/${idOf(await at.need(makePolicy))}`;
      const shown = objectOf(at.expect(await at.compute('POST', path, { json: { description: 'another' } }), { status: 200 }));
      at.assert(shown['description'] === 'another', JSON.stringify(shown));
    },
  },
  'delete-policy': {
    states: 'DeletePolicy returns 204, and the policy no longer exists',
    run: async (at) => {
      const json = { name: `${at.run}-pd`, rules: ['CAN listkeys'] };
      const { id } = objectOf(at.expect(await at.compute('POST', '/my/policies', { json }), { status: 201 }));
      await remove(at, `/my/policies/${String(id)}`);
    },
  },
});
