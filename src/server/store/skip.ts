/** For `onConflict`: what is there stays as it is. */
export const skip = <T>(conflict: { doNothing(): T }): T => conflict.doNothing();
