/** Discards the rest of a response body and releases its connection. */
export async function closeBody(body: AsyncIterable<unknown> | undefined): Promise<void> {
  if (body === undefined) return;
  const chunks = body[Symbol.asyncIterator]();
  try {
    // Returning from an iterator that was never started would leave its connection open.
    await chunks.next();
    await chunks.return?.();
  } catch {
    // The body is discarded: its errors do not matter.
  }
}
