import { expect } from 'vitest';
import type { Refusal, TestStorage } from './harness.ts';

export interface Created {
  id: string;
  partsDirectory: string;
}

export async function create(service: TestStorage, objectPath: string, headers?: Record<string, unknown>): Promise<Created> {
  const { status, json, text } = await service.ask('POST', '/demo/uploads', { json: { objectPath, headers } });
  if (status !== 201) throw new Error(`${status} ${text}`);
  return json as Created;
}

/** Stores parts and gives their etags. */
export async function putParts(service: TestStorage, { partsDirectory }: Created, ...parts: (Uint8Array | string)[]): Promise<string[]> {
  const etags: string[] = [];
  for (const [index, body] of parts.entries()) etags.push(await service.put(`${partsDirectory}/${index}`, body));
  return etags;
}

export function commit(service: TestStorage, { partsDirectory }: Created, parts: unknown): ReturnType<TestStorage['ask']> {
  return service.ask('POST', `${partsDirectory}/commit`, { json: { parts } });
}

export async function commitRefusalOf(service: TestStorage, upload: Created, parts: unknown): Promise<Refusal> {
  const { status, code } = await commit(service, upload, parts);
  return [status, code];
}

export async function stateOf(service: TestStorage, { partsDirectory }: Created): Promise<Record<string, unknown>> {
  const { status, json } = await service.ask('GET', `${partsDirectory}/state`);
  expect(status).toBe(200);
  return json as Record<string, unknown>;
}

export const invalid = [409, 'MultipartUploadInvalidArgumentError'];
export const wrongState = [409, 'InvalidMultipartUploadState'];
