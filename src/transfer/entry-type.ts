import type { Headers } from '../api/message.ts';
import { UsageError } from '../base/errors.ts';

/** Content types that tell directories and links from objects (object storage, section 4). */

/** The values of the parameters `type` of a content type, in lower case: `directory` in `application/json; type=directory`. */
function readTypes(contentType: string): string[] {
  const start = contentType.indexOf(';');
  const parameters = start < 0 ? '' : contentType.slice(start);
  const values = [];
  for (const [, name = '', value = ''] of parameters.matchAll(/;[ \t]*(?:([^\s;="]+)=("(?:[^"\\]|\\.)*"|[^\s;"]*))?[^;]*/gy)) {
    if (name.toLowerCase() === 'type') values.push(value.replace(/^"(.*)"$/s, (_, quoted: string) => quoted.replaceAll(/\\(.)/gs, '$1')));
  }
  return values.map((value) => value.toLowerCase());
}

/** True for the response headers of a directory, or of a page of its listing. */
export function isListing({ 'content-type': contentType = '' }: Headers): boolean {
  if (contentType === 'application/x-json-stream; type=directory') return true;
  return /^application\/x-json-stream[ \t]*;/i.test(contentType) && readTypes(contentType).includes('directory');
}

/** @throws {UsageError} for the content type of an object that a service may take for the request to create a directory or a link */
export function assertObjectType({ 'content-type': contentType = '' }: Headers): void {
  if (!/type/i.test(contentType)) return;
  const types = readTypes(contentType);
  const isLink = /^application\/json[ \t]*;/i.test(contentType) && types.includes('link');
  if (!isLink && !types.includes('directory')) return;
  throw new UsageError(`the content type "${contentType}" is not that of an object: services create directories and links by it`, {
    hint: 'give another type: --type TYPE',
  });
}
