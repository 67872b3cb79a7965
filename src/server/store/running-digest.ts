import { Worker } from 'node:worker_threads';

/** The MD5 of contents one after the other, computed on another thread: it takes as long as to receive and store them. */
export interface RunningDigest<Content = string> {
  /** Goes on with one; false when it cannot be read, and then the digest is as it was. */
  add(content: Content): Promise<boolean>;
  /** Base64 of what was added so far. */
  value(): Promise<string>;
  drop(): void;
}

/** What the thread runs. A file counts only when all of it was read. */
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

/** Somebody who waits for an answer of the thread. */
interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

let thread: Worker | undefined;
let count = 0;
const waiting = new Map<number, Waiting>();

function startThread(): Worker {
  const started = new Worker(threadCode, { eval: true, execArgv: [] });
  // Nobody's work is lost when the process ends: a commit that was not answered is asked for again.
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

/** Begins a digest of nothing. When the thread is lost, so is the digest: every further call of it fails. */
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
