import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';

/** An MD5 that is being computed. */
export interface Hasher {
  /** Accepts a chunk. Resolves when more chunks may follow; undefined if they may immediately. */
  update(chunk: Uint8Array): Promise<void> | undefined;
  /**
   * Writes all following bytes to an open file too, in order, starting at this position; absent where bytes are hashed on this thread.
   * The file must stay open until `digest` or `drop` has resolved.
   */
  readonly writeTo?: (descriptor: number, position: number) => void;
  /** Base64 digest of all bytes; ends the work. */
  digest(): Promise<string>;
  /** Ends the work without a result; resolves when the accepted bytes have been written or writing has failed. */
  drop(): Promise<void>;
}

/** Computes MD5s: large data on another thread, in parallel with the encryption of connections; small data on this thread. */
export interface Hashing {
  /** @param size bytes to come; undefined when unknown */
  start(size: number | undefined): Hasher;
}

/** Size from which a thread pays, bytes. */
const threadSize = 16 * 1024 * 1024;

/** Bytes handed to the thread in one message. */
const slotSize = 1024 * 1024;

/** Bytes per write call: for larger writes some systems need one contiguous block of memory, which takes several times as long. */
const writeSize = 64 * 1024;

/** Slots per hasher: some are hashed while the next is filled. */
const slotCount = 3;

/**
 * Code of the thread: hashes slots of shared memory in the order of the messages and writes them to the file. It stops writing after a
 * failed write.
 */
const threadCode = `
const { parentPort } = require('node:worker_threads');
const { createHash } = require('node:crypto');
const { writeSync } = require('node:fs');
const jobs = new Map();
function write(job, bytes) {
  for (let at = 0; at < bytes.length;) {
    const count = writeSync(job.file, bytes, at, Math.min(${writeSize}, bytes.length - at), job.position);
    at += count;
    job.position += count;
  }
}
parentPort.on('message', ({ id, slots, slot, length, file, position, ends }) => {
  if (slots) jobs.set(id, { hash: createHash('md5'), slots: slots.map((memory) => new Uint8Array(memory)) });
  const job = jobs.get(id);
  if (file !== undefined) Object.assign(job, { file, position });
  if (slot !== undefined) {
    const bytes = job.slots[slot].subarray(0, length);
    job.hash.update(bytes);
    try {
      if (job.file !== undefined) write(job, bytes);
    } catch ({ message, code, errno, syscall }) {
      job.file = undefined;
      parentPort.postMessage({ id, failure: { message, code, errno, syscall } });
    }
    parentPort.postMessage({ id, slot });
  }
  if (ends) {
    jobs.delete(id);
    parentPort.postMessage({ id, digest: job.hash.digest('base64') });
  }
});`;

function hashHere(): Hasher {
  const hash = createHash('md5');
  return {
    update: (chunk) => void hash.update(chunk),
    digest: () => Promise.resolve(hash.digest('base64')),
    drop: () => Promise.resolve(),
  };
}

/** Hashes on the calling thread: slower for one large file, but needs no memory for a thread and its slots. */
export const hashingHere: Hashing = { start: hashHere };

/** A message from the thread. */
interface HashMessage {
  readonly id: number;
  readonly slot?: number;
  readonly digest?: string;
  /** The system error of a failed write. */
  readonly failure?: { readonly message: string };
}

/** The hasher that receives messages of the thread. */
interface Listener {
  readonly receive: (message: HashMessage) => void;
  readonly failed: (error: Error) => void;
}

/** Shared memory, used by one hasher after another. */
type Memories = readonly SharedArrayBuffer[];

/** A hasher's share of the thread. */
interface Place {
  readonly id: number;
  readonly worker: Worker;
  readonly listeners: Map<number, Listener>;
  readonly memories: Memories;
  /** Called when the thread no longer uses the memory. */
  readonly release: () => void;
}

/** The exchange of messages between a hasher and the thread. */
interface Exchange {
  tell(message: object): void;
  /** True for slots that were handed to the thread and are not hashed yet. */
  readonly isBusy: boolean[];
  /** @throws the error that occurred in the thread */
  assertWell(): void;
  /** Resolves with the next message of the thread. */
  listen(): Promise<void>;
  /** Resolves with the digest when the thread has finished with this hasher. */
  readonly ended: Promise<string>;
}

function openExchange({ id, worker, listeners, memories, release }: Place): Exchange {
  const isBusy = memories.map(() => false);
  let failure: Error | undefined;
  let wake = (): void => undefined;
  let settle: { resolve: (digest: string) => void; reject: (error: Error) => void } | undefined;
  const ended = new Promise<string>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // The failure is reported to the caller who awaits the result; without one it must not be an unhandled rejection.
  ended.catch(() => undefined);

  function end(): void {
    if (listeners.delete(id)) release();
  }
  listeners.set(id, {
    receive: ({ slot, digest, failure: reason }) => {
      if (slot !== undefined) isBusy[slot] = false;
      if (reason) failure ??= Object.assign(new Error(reason.message), reason);
      wake();
      if (digest === undefined) return;
      end();
      if (failure) settle?.reject(failure);
      else settle?.resolve(digest);
    },
    failed: (error) => {
      failure = error;
      end();
      wake();
      settle?.reject(error);
    },
  });
  const exchange: Exchange = {
    tell: (message) => worker.postMessage({ id, ...message }, []),
    isBusy,
    assertWell: () => {
      if (failure) throw failure;
    },
    listen: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
    ended,
  };
  exchange.tell({ slots: memories });
  return exchange;
}

/** Fills slots in turn while the thread hashes the full ones. */
function hashThere(place: Place): Hasher {
  const views = place.memories.map((memory) => new Uint8Array(memory));
  const { tell, isBusy, assertWell, listen, ended } = openExchange(place);
  let current = 0;
  let filled = 0;
  let isEnding = false;

  function submit(): void {
    tell({ slot: current, length: filled });
    isBusy[current] = true;
    current = (current + 1) % slotCount;
    filled = 0;
  }

  /** Tells the thread that no more bytes follow. This has to be the last message: the thread then forgets the hasher. */
  function finish(): void {
    if (isEnding) return;
    isEnding = true;
    if (filled > 0) submit();
    tell({ ends: true });
  }

  async function waitForSlot(): Promise<void> {
    while (isBusy[current] === true) {
      assertWell();
      await listen();
    }
    assertWell();
  }

  /** Copies as many bytes as fit into the slot and returns the rest. */
  function fill(chunk: Uint8Array): Uint8Array {
    const part = chunk.subarray(0, slotSize - filled);
    views[current]?.set(part, filled);
    filled += part.length;
    if (filled === slotSize) submit();
    return chunk.subarray(part.length);
  }

  async function fillOn(chunk: Uint8Array): Promise<void> {
    for (let rest = chunk; rest.length > 0;) {
      await waitForSlot();
      rest = fill(rest);
    }
  }

  return {
    update: (chunk) => {
      assertWell();
      const rest = isBusy[current] === true ? chunk : fill(chunk);
      return rest.length > 0 ? fillOn(rest) : undefined;
    },
    writeTo: (descriptor, position) => {
      if (filled > 0) submit();
      tell({ file: descriptor, position });
    },
    digest: () => {
      finish();
      return ended;
    },
    drop: async () => {
      finish();
      await ended.catch(() => undefined);
    },
  };
}

/** Creates hashers. The thread starts with the first hasher that is worth it and does not keep the process alive. */
export function createHashing(): Hashing {
  const listeners = new Map<number, Listener>();
  const free: Memories[] = [];
  let worker: Worker | undefined;
  let count = 0;

  function startWorker(): Worker {
    const started = new Worker(threadCode, { eval: true, execArgv: [] });
    started.on('message', (message: HashMessage) => listeners.get(message.id)?.receive(message));
    started.on('error', (error: Error) => {
      worker = undefined;
      for (const { failed } of listeners.values()) failed(error);
    });
    return started;
  }

  return {
    start: (size) => {
      if (size !== undefined && size < threadSize) return hashHere();
      worker ??= startWorker();
      const mine = worker;
      mine.ref();
      count += 1;
      const memories = free.pop() ?? Array.from({ length: slotCount }, () => new SharedArrayBuffer(slotSize));
      const release = (): void => {
        free.push(memories);
        if (listeners.size === 0) mine.unref();
      };
      return hashThere({ id: count, worker: mine, listeners, memories, release });
    },
  };
}
