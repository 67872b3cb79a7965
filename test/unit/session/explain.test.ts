import { describe, expect, test } from 'vitest';
import { ApiError, explain } from '../../../src/base/errors.ts';
import { findPaths } from '../../../src/config/paths.ts';
import { refine } from '../../../src/session/explain.ts';

type RefineContext = Parameters<typeof refine>[1];

async function hintOf(message: string, role?: string): Promise<string | undefined> {
  const given = { value: 'jill', source: '--user' };
  const settings = { user: given, ...(role !== undefined && { role: { value: role, source: '--role' } }) };
  const context = { settings: () => settings, world: { argv: [] } } as unknown as RefineContext;
  const error = await refine(new ApiError(403, 'NotAuthorized', message), context, {
    isOfCompute: () => true,
    signer: () => 'demo',
    canGlob: false,
  });
  return error instanceof ApiError ? error.hint : undefined;
}

describe('the hint of a 403 is the question with the path as the question reads it', () => {
  const reason = 'the account finds the reason with: cloud policies simulate jill';
  test.each([
    ['/demo/keys/6e%3Ade%3A22', 'getkey', `${reason} getkey /demo/keys/6e:de:22`],
    ['/my/roles/r%20two', 'getrole', `${reason} getrole '/my/roles/r two'`],
    ['/demo/stor/a%2520b', 'getobject', `${reason} getobject /demo/stor/a%20b`],
    ['/--ping', 'ping', `${reason} ping /--ping`],
    ['/demo', 'getaccount', `${reason} getaccount /demo`],
    ['/demo/services', 'listservices', `${reason} listservices /demo/services`],
  ])('%s', async (path, action, hint) => {
    expect(await hintOf(`You do not have permission to access ${path} (${action})`)).toBe(hint);
  });

  test('with the roles that the request names', async () => {
    expect(await hintOf('demo/jill is not allowed to access /demo/stor (listdirectory)', 'a,b')).toBe(
      `${reason} listdirectory /demo/stor --with-role a,b`,
    );
  });

  test('in another account a sub-user has no permission that a question could find', async () => {
    expect(await hintOf('You do not have permission to access /other/keys (listkeys)')).toBe(
      'a sub-user of demo has permissions in that account only, whatever roles other has',
    );
  });

  test.each(['/demo/keys/%ff', '/demo/keys/a%0Ab', '/demo/machines/x', '/demo/networks', '/demo/services/x'])(
    'no hint where the question has no answer: %s',
    async (path) => {
      expect(await hintOf(`You do not have permission to access ${path} (setroletags)`)).toBeUndefined();
    },
  );
});

describe('a folder of the program that cannot be written has a hint that names the variable for another', () => {
  const context = { paths: findPaths({ XDG_DATA_HOME: '/data' }, '/home/jill') } as unknown as RefineContext;
  test.each([
    ['EACCES', '/home/jill/.config', true],
    ['EROFS', '/home/jill/.local/state/cloud/journal/1', true],
    ['EACCES', '/data/cloud', true],
    ['EACCES', '/home/jill/.config/clouds', false],
    ['EACCES', '/home/jill/photos', false],
    ['ENOSPC', '/home/jill/.config', false],
  ])('%s of %s: %s', async (code, path, hasHint) => {
    const failure = Object.assign(new Error(code), { code, path, syscall: 'mkdir' });
    const { hint } = explain(await refine(failure, context, { isOfCompute: () => false, signer: () => undefined, canGlob: false }));
    expect(hint).toBe(hasHint ? 'use a folder of your own: export CLOUD_HOME=DIR' : undefined);
  });
});
