/** The result of work; when it fails, `undo` is called before the error is thrown, which hides that of `undo`. */
export async function undoOnFailure<T>(undo: () => unknown, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await Promise.resolve()
      .then(undo)
      .catch(() => undefined);
    throw error;
  }
}
