/** For `onConflict`: keeps the existing row. */
export const skip = <T>(conflict: { doNothing(): T }): T => conflict.doNothing();
