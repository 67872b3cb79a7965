import { expect, test } from 'vitest';
import { createGate } from '../../../src/server/gate.ts';
import type { Service } from '../../../src/server/http/serve.ts';
import { writeEmpty } from '../../../src/server/http/response.ts';

/** What the gate in front of local services answers itself. */

test('a request that asks whether the services run reaches no service and waits for nothing', async () => {
  const asked: string[] = [];
  const service: Service = async ({ target }) => {
    asked.push(target);
    return writeEmpty(200);
  };
  const gate = createGate({ 'local-instance': 'this' });
  const send = (instance: string) =>
    gate.guard('compute')(
      { method: 'GET', target: '/--ping', headers: { 'local-instance': instance } },
      { remoteAddress: '::1', secure: true },
    );
  expect(await send('this')).toMatchObject({ status: 204, headers: { 'local-instance': 'this' } });
  gate.open({ compute: service, storage: service, second: service });
  expect(await send('this')).toMatchObject({ status: 204 });
  expect(asked).toEqual([]);
  expect(await send('other')).toMatchObject({ status: 200, headers: { 'local-instance': 'this' } });
  expect(asked).toEqual(['/--ping']);
});
