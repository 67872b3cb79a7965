/** Names that deployed services use where the specification has others. The client reads either; this table is the only place. */

interface Alias {
  readonly specified: string;
  readonly deployed: string;
}

/** Fields of JSON bodies: read as specified; sent under both names. */
export const fieldAliases: readonly Alias[] = [
  { specified: 'cloud_cns_enabled', deployed: 'triton_cns_enabled' },
  { specified: 'storage_path', deployed: 'manta_path' },
  { specified: 'storage_url', deployed: 'manta_url' },
];

/** Reply headers: the local service sends both. */
export const headerAliases: readonly Alias[] = [
  { specified: 'cloud-datacenter-name', deployed: 'triton-datacenter-name' },
  { specified: 'job-id', deployed: 'x-joyent-jobid' },
];

/** Values of `action` that select an operation. */
export const actionAliases: readonly Alias[] = [{ specified: 'import-from-datacenter', deployed: 'import' }];

/** Error codes that mean the same. */
const codeAliases: readonly Alias[] = [
  { specified: 'RequestThrottled', deployed: 'TooManyRequestsError' },
  { specified: 'InsufficientServerVersionError', deployed: 'InsufficientServerVersion' },
  { specified: 'ImageUuidAlreadyExistsError', deployed: 'ImageUuidAlreadyExists' },
  { specified: 'UnauthorizedError', deployed: 'Unauthorized' },
  { specified: 'OriginIsNotActiveError', deployed: 'OriginIsNotActive' },
  { specified: 'NotImageOwnerError', deployed: 'NotImageOwner' },
  { specified: 'MultipartUploadInvalidArgumentError', deployed: 'MultipartUploadInvalidArgument' },
];

/** The specification's code for the one a service sent. */
export function specifiedCode(code: string): string {
  return codeAliases.find((alias) => alias.deployed === code)?.specified ?? code;
}

/** A JSON object with deployed field names replaced by the specification's; nested values are left alone. */
export function readAliases<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  // Nearly no object has one: a copy of each would take longer than all the rest of a list.
  if (!fieldAliases.some(({ deployed }) => Object.hasOwn(value, deployed))) return value;
  const result: Record<string, unknown> = Object.fromEntries(Object.entries(value));
  for (const { specified, deployed } of fieldAliases) {
    if (!(deployed in result)) continue;
    result[specified] ??= result[deployed];
    delete result[deployed];
  }
  return result as T;
}

/** The same fields under both names, for sending. */
export function writeAliases(value: Record<string, unknown>): Record<string, unknown> {
  const both = fieldAliases.filter(({ specified }) => value[specified] !== undefined);
  return { ...value, ...Object.fromEntries(both.map(({ specified, deployed }) => [deployed, value[specified]])) };
}
