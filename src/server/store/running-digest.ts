import { Worker } from 'node:worker_threads';

/** The MD5 of contents in order, computed on another thread: it takes as long as receiving and storing them. */
export interface RunningDigest<Content = string> {
  /** Adds a content; false if it cannot be read, and the digest is unchanged then. */
  add(content: Content): Promise<boolean>;
  /** Base64 MD5 of everything added so far. */
  value(): Promise<string>;
  drop(): void;
}

/** Code of the thread. A file is added only if all of it could be read. */
const threadCode = `
const { parentPort } = require('node:worker_threads');
const { createHash } = require('node:crypto');
const { closeSync, openSync, readSync } = require('node:fs');
const block = Buffer.allocUnsafeSlow(1024 * 1024);
const hashes = new Map();
function readOn(hash, content) {
  if (typeof content !== 'string') return hash.update(content);
  const descriptor = openSync(content, 'r');
  try {
    for (let count = readSync(descriptor, block); count > 0; count = readSync(descriptor, block)) hash.update(block.subarray(0, count));
  } finally {
    closeSync(descriptor);
  }
}
const works = {
  add: (id, content) => {
    const hash = (hashes.get(id) ?? createHash('md5')).copy();
    try {
      readOn(hash, content);
    } catch {
      return false;
    }
    hashes.set(id, hash);
    return true;
  },
  value: (id) => (hashes.get(id) ?? createHash('md5')).copy().digest('base64'),
  drop: (id) => hashes.delete(id),
};
parentPort.on('message', ({ question, work, id, content }) => parentPort.postMessage({ question, answer: works[work](id, content) }));`;

/** A file by its path, or bytes. */
type Source = string | Uint8Array;

/** A caller waiting for a response of the thread. */
interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

let thread: Worker | undefined;
let count = 0;
const waiting = new Map<number, Waiting>();

function startThread(): Worker {
  const started = new Worker(threadCode, { eval: true, execArgv: [] });
  // Nothing is lost when the process ends: a commit without a response is sent again.
  started.unref();
  started.on('message', ({ question, answer }: { question: number; answer: unknown }) => {
    waiting.get(question)?.resolve(answer);
    waiting.delete(question);
  });
  started.on('error', (error: Error) => {
    thread = undefined;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  });
  return started;
}

function ask(work: 'add' | 'value' | 'drop', id: number, content?: Source): Promise<unknown> {
  thread ??= startThread();
  const worker = thread;
  count += 1;
  const question = count;
  return new Promise((resolve, reject) => {
    waiting.set(question, { resolve, reject });
    worker.postMessage({ question, work, id, content }, []);
  });
}

/** Begins an empty digest. If the thread fails, the digest is lost, and every further call fails. */
export function beginDigest(): RunningDigest<Source> {
  count += 1;
  const id = count;
  let home: Worker | undefined;
  async function askHome(work: 'add' | 'value', content?: Source): Promise<unknown> {
    home ??= thread ??= startThread();
    if (home !== thread) throw new Error('the thread that computes checksums has failed');
    return await ask(work, id, content);
  }
  return {
    add: async (content) => (await askHome('add', content)) === true,
    value: async () => String(await askHome('value')),
    drop: () => {
      if (home !== undefined && home === thread) ask('drop', id).catch(() => undefined);
    },
  };
}
