/** Where contents are in a store that speaks the S3 protocol. */
export interface S3Options {
  /** URL of the store, with neither path nor query. */
  readonly endpoint: string;
  readonly bucket: string;
  /** What all keys begin with: empty, or something that ends in a slash. */
  readonly prefix: string;
  readonly region: string;
  readonly credentials: S3Credentials;
}

/** The key pair that requests are signed with. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of credentials that are given for some time. */
  readonly sessionToken?: string | undefined;
}
