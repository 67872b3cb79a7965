import type { Download } from '../api/operation.ts';

/** Gives up a reply whose rest is not wanted. */
export async function closeBody(body: Download['body'] | undefined): Promise<void> {
  if (body === undefined) return;
  const pieces = body[Symbol.asyncIterator]();
  try {
    // A stream that was never begun would keep its connection.
    await pieces.next();
    await pieces.return?.();
  } catch {
    // Nobody wanted it.
  }
}
