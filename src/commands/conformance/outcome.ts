/** The service neither conforms to the statement nor behaves as deployed services do. */
export class Mismatch extends Error {}

/** The check cannot be run here. */
export class Skip extends Error {}
