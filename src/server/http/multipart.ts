import { readMediaType } from '../../api/media-type.ts';

/** Reads one part. @throws {SyntaxError} if it is not the value of a field */
function readPart(part: string): [name: string, value: string] {
  const end = part.indexOf('\r\n\r\n');
  const disposition = /^content-disposition:\s*(?<value>form-data.*)$/imu.exec(part.slice(0, end))?.groups?.['value'];
  const name = end === -1 || disposition === undefined ? undefined : readMediaType(disposition).parameters['name'];
  if (name === undefined) throw new SyntaxError('a part without the name of a field');
  return [name, part.slice(end + 4)];
}

/**
 * Reads the fields of a `multipart/form-data` body (RFC 7578): names are tokens or quoted strings, and what stands before the first and
 * after the last boundary is ignored.
 * @returns names and values as bytes, in order
 * @throws {SyntaxError} if the body does not have the boundary of its content type, or a part is not a field
 */
export function parseMultipart(bytes: Uint8Array, contentType: string): [name: Buffer, value: Buffer][] {
  const boundary = readMediaType(contentType).parameters['boundary'] ?? '';
  if (boundary === '') throw new SyntaxError('the content type has no boundary');
  const escaped = boundary.replaceAll(/[$()*+./?[\\\]^{|}]/gu, '\\$&');
  // Latin-1 has one character for each byte. The first boundary may be the first line.
  const text = `\r\n${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')}`;
  const delimiters = [...text.matchAll(new RegExp(`\\r\\n--${escaped}(?<close>--)?[\\t ]*(?=\\r\\n|$)`, 'gu'))];
  const last = delimiters.findIndex(({ groups }) => groups?.['close'] !== undefined);
  if (last === -1) throw new SyntaxError('no closing boundary');
  return delimiters.slice(0, last).map((delimiter, index) => {
    const part = text.slice(delimiter.index + delimiter[0].length + 2, delimiters[index + 1]?.index);
    const [name, value] = readPart(part);
    return [Buffer.from(name, 'latin1'), Buffer.from(value, 'latin1')];
  });
}
