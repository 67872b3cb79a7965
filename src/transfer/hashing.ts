import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';

/** An MD5 that is being computed. */
export interface Hasher {
  /** Takes the bytes at once; resolves when more may come. */
  update(piece: Uint8Array): Promise<void> | undefined;
  /**
   * From now on the bytes are written to an open file too, from this position on, in order; absent where the bytes are hashed at once.
   * The file must stay open until `digest` or `drop` has resolved.
   */
  readonly writeTo?: (descriptor: number, position: number) => void;
  /** Base64, when everything is written; ends the work. */
  digest(): Promise<string>;
  /** Ends the work without a result; resolves when what was taken is written, as far as that goes. */
  drop(): Promise<void>;
}

/** Computes MD5s: of much data on another thread, beside the encryption of connections; of little at once. */
export interface Hashing {
  /** @param size bytes to come; undefined when unknown */
  start(size: number | undefined): Hasher;
}

/** From this size on a thread pays, bytes. */
const threadSize = 16 * 1024 * 1024;

/** Bytes that are handed to the thread at once. */
const slotSize = 1024 * 1024;

/** Bytes that are written at once: for larger writes some systems look for memory in one large piece, and take several times as long. */
const writeSize = 64 * 1024;

/** Slots of one hasher: some are hashed while the next is filled. */
const slotCount = 3;

/**
 * What the thread runs: it hashes slots of shared memory in the order in which they are named, and writes them. After a write that
 * failed nothing more is written.
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
    update: (piece) => void hash.update(piece),
    digest: () => Promise.resolve(hash.digest('base64')),
    drop: () => Promise.resolve(),
  };
}

/** Hashes where it is called: slower for one large file, and without the memory of a thread and of what it is handed. */
export const hashingHere: Hashing = { start: hashHere };

/** What the thread tells. */
interface Told {
  readonly id: number;
  readonly slot?: number;
  readonly digest?: string;
  /** Of a write: what the system said. */
  readonly failure?: { readonly message: string };
}

/** The hasher that a message of the thread is for. */
interface Listener {
  readonly told: (message: Told) => void;
  readonly failed: (error: Error) => void;
}

/** Shared memory that hashers use one after the other. */
type Memories = readonly SharedArrayBuffer[];

/** What a hasher has of the thread. */
interface Place {
  readonly id: number;
  readonly worker: Worker;
  readonly listeners: Map<number, Listener>;
  readonly memories: Memories;
  /** Called when the thread is through with the memory. */
  readonly release: () => void;
}

/** What a hasher and the thread exchange. */
interface Exchange {
  tell(message: object): void;
  /** Slots that the thread has and has not hashed yet. */
  readonly isBusy: boolean[];
  /** @throws what went wrong in the thread */
  assertWell(): void;
  /** Resolves when the thread has said something. */
  listen(): Promise<void>;
  /** Resolves when the thread has nothing of this hasher any more. */
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
  // Whoever asks for the result is told of the failure.
  ended.catch(() => undefined);

  function end(): void {
    if (listeners.delete(id)) release();
  }
  listeners.set(id, {
    told: ({ slot, digest, failure: reason }) => {
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

/** Fills slots in turns; full ones are hashed meanwhile. */
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

  /** Tells the thread that nothing more comes. What it is told afterwards it does not hear. */
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

  /** Copies what there is room for; the rest is what it returns. */
  function fill(piece: Uint8Array): Uint8Array {
    const part = piece.subarray(0, slotSize - filled);
    views[current]?.set(part, filled);
    filled += part.length;
    if (filled === slotSize) submit();
    return piece.subarray(part.length);
  }

  async function fillOn(piece: Uint8Array): Promise<void> {
    for (let rest = piece; rest.length > 0;) {
      await waitForSlot();
      rest = fill(rest);
    }
  }

  return {
    update: (piece) => {
      assertWell();
      const rest = isBusy[current] === true ? piece : fill(piece);
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

/** Makes hashers; the thread begins with the first that is worth it, and does not keep the program from ending. */
export function createHashing(): Hashing {
  const listeners = new Map<number, Listener>();
  const free: Memories[] = [];
  let worker: Worker | undefined;
  let count = 0;

  function startWorker(): Worker {
    const started = new Worker(threadCode, { eval: true, execArgv: [] });
    started.on('message', (message: Told) => listeners.get(message.id)?.told(message));
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
