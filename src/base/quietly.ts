/** The result of `read`, or `otherwise` if it throws. */
export function quietly<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
