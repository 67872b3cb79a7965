import { createHash } from 'node:crypto';
import { readAll, type Body, type ByteStream } from '../../../src/api/message.ts';
import { keepInline } from '../../../src/server/store/inline-bytes.ts';
import type { ByteStore, StoredBytes } from '../../../src/server/store/bytes.ts';
import { StoreUnavailable } from '../../../src/server/store/unavailable.ts';
import type { Group, Simulation } from './simulation.ts';
import { randomUUID } from 'node:crypto';

/** A store of contents that all processes of a simulation share; each request to it is a step. */

/** Milliseconds by which its clock is behind that of the database: as much as the collector allows for (`orphanAge`). */
const skew = 3_600_000;

/** Pieces in which a content is read. */
const pieces = 3;

interface Kept {
  readonly bytes: Uint8Array;
  readonly written: number;
}

export class SimulatedBytes {
  readonly kept = new Map<string, Kept>();
  /** Reads that were cut off because the content was removed, although the reader's lease was in force. */
  readonly cutOff: string[] = [];
  readonly #simulation: Simulation;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /** The store as one process reaches it. */
  of(group: Group): ByteStore {
    const simulation = this.#simulation;
    const ask = async (what: string): Promise<void> => {
      await simulation.step(group, what);
    };
    const write = async (body: Body): Promise<StoredBytes> => {
      const bytes = body instanceof Uint8Array ? body : await readAll(body);
      const id = randomUUID();
      await ask(`write ${id}`);
      this.kept.set(id, { bytes, written: simulation.now - skew });
      await ask(`wrote ${id}`);
      return { id, size: bytes.length, md5: createHash('md5').update(bytes).digest('base64') };
    };
    const find = (id: string): Uint8Array => {
      const found = this.kept.get(id);
      if (found) return found.bytes;
      if (group.lapsedAt < simulation.current().began) this.cutOff.push(`${group.name} read ${id}, which is gone`);
      throw new StoreUnavailable(`the store has no content ${id}`);
    };
    const readRest = async function* (id: string, start: number, end: number): ByteStream {
      const length = Math.max(1, Math.ceil((end - start) / pieces));
      for (let at = start; at < end; at += length) {
        if (at > start) await ask(`read on ${id}`);
        yield find(id).subarray(at, Math.min(end, at + length));
      }
    };
    return {
      write,
      writeCompressed: write,
      keep: async (bytes) => keepInline(bytes) ?? (await write(bytes)),
      read: async (id, start, end) => {
        await ask(`read ${id}`);
        find(id);
        return readRest(id, start, end);
      },
      place: async () => false,
      measureFree: async () => Infinity,
      remove: async (id) => {
        await ask(`remove ${id}`);
        this.kept.delete(id);
      },
      list: (before = Infinity) => this.#list(ask, before),
    };
  }

  async *#list(ask: (what: string) => Promise<void>, before: number): AsyncGenerator<string> {
    await ask('list contents');
    // As it was when it was asked.
    const ids = [...this.kept].flatMap(([id, { written }]) => (written < before ? [id] : []));
    for (const id of ids) yield id;
  }
}
