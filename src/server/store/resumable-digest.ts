import { createMD5 } from 'hash-wasm';
import type { ByteStream } from '../../api/message.ts';

/** An MD5 whose state can be saved and continued by another process. */
export interface ResumableDigest {
  /** Adds a body. @throws the error of the body; the digest is unchanged then */
  add(body: ByteStream): Promise<void>;
  state(): Uint8Array;
  /** Base64. */
  value(): string;
}

/** Begins a digest or continues one; begins anew if another release saved the state in another format (see `isResumed`). */
export async function openDigest(state?: Uint8Array): Promise<ResumableDigest & { readonly isResumed: boolean }> {
  const hash = await createMD5();
  hash.init();
  let isResumed = false;
  if (state !== undefined) {
    try {
      hash.load(state);
      isResumed = true;
    } catch {
      hash.init();
    }
  }
  return {
    isResumed,
    async add(body) {
      const before = hash.save();
      try {
        for await (const piece of body) hash.update(piece);
      } catch (error) {
        hash.load(before);
        throw error;
      }
    },
    state: () => hash.save(),
    value: () => {
      const before = hash.save();
      const digest = Buffer.from(hash.digest('binary')).toString('base64');
      hash.load(before);
      return digest;
    },
  };
}
