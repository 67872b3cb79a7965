import { describe, expect, test } from 'vitest';
import { compute } from '../../../src/api/compute.ts';
import { streamOf } from '../../../src/api/message.ts';
import type { Listing, Operation } from '../../../src/api/operation.ts';
import { storage } from '../../../src/api/storage.ts';
import { readResult } from '../../../src/client/response.ts';
import { NetworkError } from '../../../src/base/errors.ts';
import { listPlaces, listWrong, replaceAt, sampleOf } from '../../support/shapes.ts';

/** Replies of other shapes than are declared: for every operation, a value of every wrong kind in the place of every field. */

const origin = { url: new URL('https://cloud.example.com'), now: () => 0 };
const all: readonly Operation[] = [...Object.values(compute), ...Object.values(storage)] as Operation[];
const shaped = all.flatMap((operation) => {
  const { name, result, shape } = operation;
  return shape === undefined || result === 'bytes' ? [] : [{ ...operation, name, result, shape }];
});

/** What a client makes of this value as the body of a response. */
async function read(
  { result, status, shape }: Pick<(typeof shaped)[number], 'result' | 'status' | 'shape'>,
  value: unknown,
): Promise<unknown> {
  const text = value === undefined ? '' : JSON.stringify(value);
  const response = { status, headers: { 'content-type': 'application/json' }, body: streamOf(Buffer.from(`${text}\n`)) };
  const read = await readResult(result, response, origin, shape);
  if (result !== 'records') return read;
  const records: unknown[] = [];
  for await (const record of (read as Listing<unknown>).records) records.push(record);
  return records[0];
}

describe.each(shaped)('$name', (operation) => {
  const sample = sampleOf(operation.shape);

  test('what is declared is read as it is, with further fields, and null where a field may be absent', async () => {
    expect(await read(operation, sample)).toEqual(sample);
    for (const { path, field } of listPlaces(operation.shape)) {
      if (field.kind === 'object') {
        const more = replaceAt(sample, [...path, 'further'], [null, { x: 1 }]);
        expect(await read(operation, more)).toEqual(more);
      }
      if (field.optional) expect(await read(operation, replaceAt(sample, path, null))).toEqual(replaceAt(sample, path, undefined));
    }
  });

  test('what is not is an error that names the place, and never another', async () => {
    let count = 0;
    for (const { path, field } of listPlaces(operation.shape)) {
      for (const [kind, wrong] of listWrong(field)) {
        // Nothing at all is not JSON, and none of the records of a listing.
        if (path.length === 0 && kind === 'nothing') continue;
        const told = `${operation.name} ${path.join('.')} ${kind}`;
        const failure: unknown = await read(operation, replaceAt(sample, path, wrong)).catch((error: unknown) => error);
        expect([told, failure instanceof NetworkError, (failure as NetworkError).code]).toEqual([told, true, 'UnreadableReply']);
        expect((failure as Error).message, told).toMatch(/^cloud\.example\.com sent .+ instead of .+/u);
        const name = path.findLast((step) => typeof step === 'string');
        if (name !== undefined) expect((failure as Error).message).toContain(name);
        count += 1;
      }
    }
    expect(count).toBeGreaterThan(0);
  });
});

test('a message names the place as a path', async () => {
  await expect(
    read(compute.listPolicies as (typeof shaped)[number], [
      { id: 'a', name: 'b', rules: ['c'] },
      { id: 'a', name: 'b', rules: ['c', 7] },
    ]),
  ).rejects.toThrow('cloud.example.com sent a number instead of text ([1].rules[1])');
});
