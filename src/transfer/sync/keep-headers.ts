import type { Headers } from '../../api/message.ts';
import type { Engine } from '../engine.ts';
import { inspect } from '../inspect.ts';
import type { RemotePath } from '../path.ts';

/** Receives the headers of each object that was written to a file. */
export interface HeaderKeeper {
  add(file: string, headers: Headers): void;
  /** True if the headers of an object with this etag are still missing though its file exists. */
  lacks(file: string, etag: string): boolean;
}

/** Keeps the headers of an object whose file exists already, unless they are kept. */
export async function keepHeaders(
  engine: Engine,
  source: RemotePath,
  file: string,
  etag: string | undefined,
  keeper: HeaderKeeper | undefined,
): Promise<void> {
  if (etag === undefined || keeper?.lacks(file, etag) !== true) return;
  const there = await inspect(engine.storage, source);
  // An object that has been replaced since the listing is fetched by the next run.
  if (there?.headers['etag'] === etag) keeper.add(file, there.headers);
}
