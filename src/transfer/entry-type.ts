import { isTyped, readMediaType } from '../api/media-type.ts';
import type { Headers } from '../api/message.ts';
import { UsageError } from '../base/errors.ts';

/** Content types that tell directories and links from objects (object storage, section 4). */

/** True for the response headers of a directory, or of a page of its listing. */
export function isListing({ 'content-type': contentType = '' }: Headers): boolean {
  if (!/directory/i.test(contentType)) return false;
  return isTyped(contentType, 'application/x-json-stream', 'directory');
}

/** @throws {UsageError} for the content type of an object that a service may take for the request to create a directory or a link */
export function assertObjectType({ 'content-type': contentType = '' }: Headers): void {
  const { type, parameters } = readMediaType(contentType);
  const kind = parameters['type']?.toLowerCase();
  if (kind !== 'directory' && !(kind === 'link' && type === 'application/json')) return;
  throw new UsageError(`the content type "${contentType}" is not that of an object: services create directories and links by it`, {
    hint: 'give another type: --type TYPE',
  });
}
