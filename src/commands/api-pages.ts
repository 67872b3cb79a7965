import type { ByteStream } from '../api/message.ts';
import { NetworkError } from '../base/errors.ts';
import { readLines } from '../client/response.ts';

function readName(line: string): string {
  try {
    const { name } = JSON.parse(line) as { name?: unknown };
    if (typeof name === 'string') return name;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new NetworkError('a record of the listing has no name', { code: 'UnreadableReply' });
}

/**
 * Yields the records of a listing, page after page. A page begins at its marker or after it. A service that ignores markers sends the first
 * page again, which ends the listing.
 * @param next requests the page at a marker
 */
export async function* joinPages(first: ByteStream, next: (marker: string) => Promise<ByteStream>): AsyncGenerator<Uint8Array> {
  let begin: string | undefined;
  let marker: string | undefined;
  for (let page = first; ; page = await next(marker)) {
    let last: string | undefined;
    for await (const line of readLines(page)) {
      if (line.trim() === '') continue;
      const name = readName(line);
      if (name === marker && last === undefined) continue;
      if (marker !== undefined && name === begin) return;
      begin ??= name;
      last = name;
      yield Buffer.from(`${line}\n`);
    }
    if (last === undefined) return;
    marker = last;
  }
}
