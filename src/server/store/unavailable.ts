/**
 * The database cannot be asked just now, or did not answer in time. A transaction may have been committed all the same: whoever was about
 * to name stored bytes in it keeps them.
 */
export class StoreUnavailable extends Error {}
