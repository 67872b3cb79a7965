import type { RunningDigest } from '../store/running-digest.ts';
import type { Store } from '../store/store.ts';
import { useContent } from './contents.ts';
import { findEntry } from './entries.ts';
import { mapForEachStore } from './for-each-store.ts';
import { childOf, type Place } from './paths.ts';
import { digestSaved, forgetSaved, goOnAhead, type PartContent } from './saved-digests.ts';

/** The MD5 of the first parts of an upload. */
interface Digest {
  running: RunningDigest;
  /** The contents that it covers, in order. */
  contents: string[];
}

/**
 * The MD5 of an upload's object is that of all its parts in order. It cannot be combined from their MD5s, so the bytes have to be read once
 * more. This is done while further parts arrive: even for 100 GB, a commit has little left to read. If this state is lost, the commit reads
 * all parts.
 */
const findDigests = mapForEachStore<Promise<Digest>>();

/** Maximum number of uploads whose state is kept, each in about 18 KB: many uploads are never committed or aborted. */
const mostDigests = 1000;

/** Base64 MD5 of the parts in order; undefined if one of them has been replaced meanwhile. */
export async function digestParts(store: Store, uploadId: string, parts: readonly PartContent[]): Promise<string | undefined> {
  if (store.digest === undefined) return digestSaved(store, uploadId, parts);
  const digest = await goOn(store, uploadId, async (begun) => {
    const fits = begun.contents.length <= parts.length && begun.contents.every((content, index) => content === parts[index]?.content);
    if (!fits) begun.running.drop();
    const digest = fits ? begun : beginDigest(store);
    for (const part of parts.slice(digest.contents.length)) if (!(await addPart(store, digest, part))) break;
    return digest;
  });
  return digest.contents.length === parts.length ? await digest.running.value() : undefined;
}

/** Continues an upload's MD5 in the background, up to the first missing part. */
export function digestAhead(store: Store, uploadId: string, directory: Place): void {
  if (store.digest === undefined) {
    goOnAhead(store, uploadId, directory);
    return;
  }
  const addPresent = async (digest: Digest): Promise<Digest> => {
    for (;;) {
      const part = await findEntry(store.db, childOf(directory, String(digest.contents.length)));
      if (!part || !(await addPart(store, digest, part))) return digest;
    }
  };
  // An error here occurs again at the commit, which reports it.
  goOn(store, uploadId, addPresent).catch(() => undefined);
}

/** Discards the MD5 state of an upload, once nobody waits for it: whoever needs it again begins anew. */
export function forgetDigest(store: Store, uploadId: string): void {
  if (store.digest === undefined) {
    forgetSaved(store, uploadId);
    return;
  }
  const digests = findDigests(store);
  digests.get(uploadId)?.then(
    ({ running }) => running.drop(),
    () => undefined,
  );
  digests.delete(uploadId);
}

/** Runs work on an upload's digest after the previous work on it. */
function goOn(store: Store, uploadId: string, work: (digest: Digest) => Promise<Digest>): Promise<Digest> {
  const digests = findDigests(store);
  const before = digests.get(uploadId) ?? Promise.resolve(beginDigest(store));
  const next = before.catch(() => beginDigest(store)).then(work);
  // As the newest.
  digests.delete(uploadId);
  digests.set(uploadId, next);
  const [oldest] = digests.keys();
  if (digests.size > mostDigests && oldest !== undefined) forgetDigest(store, oldest);
  return next;
}

function beginDigest({ digest }: Store): Digest {
  if (digest === undefined) throw new Error('the digests of this store are not in memory');
  return { running: digest(), contents: [] };
}

/** False if the part cannot be used any more; the digest is unchanged then. @throws when the part exists and cannot be read */
async function addPart(store: Store, digest: Digest, { content }: PartContent): Promise<boolean> {
  const isAdded = content !== null && (await useContent(store, content, () => digest.running.add(content)));
  if (isAdded === false && content !== null) throw new Error(`the content ${content} cannot be read`);
  if (content === null || isAdded !== true) return false;
  digest.contents.push(content);
  return true;
}
