/** The service does neither what is stated nor what deployed services do. */
export class Mismatch extends Error {}

/** The check cannot be made here. */
export class Skip extends Error {}
