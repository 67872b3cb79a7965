/** Location of contents in a store with the S3 protocol. */
export interface S3Options {
  /** URL of the store, without path and query. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Prefix of all keys: empty, or ending in a slash. */
  readonly prefix: string;
  readonly region: string;
  readonly credentials: S3Credentials;
}

/** The key pair that signs requests. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** For temporary credentials. */
  readonly sessionToken?: string | undefined;
}
