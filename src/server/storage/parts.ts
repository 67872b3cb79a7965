import type { storage } from '../../api/storage.ts';
import type { Handler } from '../http/handler.ts';
import { releaseContents } from './garbage.ts';
import { digestAhead } from './digests.ts';
import { describeStored, findForWriting, putEntry } from './entries.ts';
import { describeVersion } from './headers.ts';
import { keepBytes, readLimit, refuseEncoding, refusePartial, storeChecked } from './objects.ts';
import { childOf } from './paths.ts';
import { assertQuota, assertQuotaFor } from './quota.ts';
import { createArgumentError, refuseConditions } from './upload-headers.ts';
import { findUpload, partsDirectory, createStateError } from './uploads.ts';

/** Highest part number (section 8). */
const lastPart = 9999;

/** Stores a part of an upload; an existing part with the same number is replaced. */
export const uploadPart: Handler<typeof storage.uploadPart> = async (input, call) => {
  const { prefix, id, durabilityLevel, maxContentLength, length } = input;
  const number = readPartNumber(call.path);
  refusePartial(call.headers);
  refuseEncoding(call.headers);
  refuseConditions(call.headers);
  if (durabilityLevel !== undefined)
    throw createArgumentError('the number of copies is set when the upload is created: remove durability-level');
  const upload = await findUpload(call.store.db, call, id, prefix);
  if (upload.state === 'done') throw createStateError(upload, 'given a part');
  const directory = partsDirectory(call.account.login, id);
  const place = childOf(directory, String(number));
  const limit = readLimit(maxContentLength, length);
  await assertQuotaFor(call.store.db, call, length, undefined);
  const bytes = await storeChecked(input, { limit }, call);
  const values = { ...describeStored(bytes, call.now()), copies: upload.copies };
  await keepBytes(call, bytes, async (transaction) => {
    const now = await findUpload(transaction, call, id, prefix, 'unchanged');
    if (now.state === 'done') throw createStateError(now, 'given a part');
    const { parent, entry } = await findForWriting(transaction, place);
    await putEntry(transaction, place, entry, {
      ...values,
      headers: '{"content-type":"application/octet-stream"}',
      role_tags: parent.role_tags,
    });
    await assertQuota(transaction, call, { bytes: bytes.size - (entry?.size ?? 0), objects: 0 });
    return releaseContents(transaction, [entry]);
  });
  digestAhead(call.store, id, directory);
  return { ...describeVersion(values), 'computed-md5': bytes.md5 };
};

/** A part number has one spelling: decimal digits without leading zeros, in the path as sent. */
function readPartNumber(path: string): number {
  const part = path.split('/').findLast((component) => component !== '') ?? '';
  if (/^(?:0|[1-9]\d{0,3})$/.test(part)) return Number(part);
  throw createArgumentError(`part number is "${part}": it must be a whole number from 0 to ${lastPart}`);
}
