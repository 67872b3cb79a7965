/** Names in deployed services that differ from the specification. The client accepts both. No other file lists them. */

interface Alias {
  readonly specified: string;
  readonly deployed: string;
}

/** Fields of JSON bodies: read under the specified name, sent under both. */
const fieldAliases: readonly Alias[] = [
  { specified: 'cloud_cns_enabled', deployed: 'triton_cns_enabled' },
  { specified: 'storage_path', deployed: 'manta_path' },
  { specified: 'storage_url', deployed: 'manta_url' },
];

/** Response headers: the local service sends both. */
export const headerAliases: readonly Alias[] = [
  { specified: 'cloud-datacenter-name', deployed: 'triton-datacenter-name' },
  { specified: 'job-id', deployed: 'x-joyent-jobid' },
];

/** Values of `action` that select an operation. */
export const actionAliases: readonly Alias[] = [{ specified: 'import-from-datacenter', deployed: 'import' }];

/** Error codes with the same meaning. */
const codeAliases: readonly Alias[] = [
  { specified: 'RequestThrottled', deployed: 'TooManyRequestsError' },
  { specified: 'InsufficientServerVersionError', deployed: 'InsufficientServerVersion' },
  { specified: 'ImageUuidAlreadyExistsError', deployed: 'ImageUuidAlreadyExists' },
  { specified: 'UnauthorizedError', deployed: 'Unauthorized' },
  { specified: 'OriginIsNotActiveError', deployed: 'OriginIsNotActive' },
  { specified: 'NotImageOwnerError', deployed: 'NotImageOwner' },
  { specified: 'MultipartUploadInvalidArgumentError', deployed: 'MultipartUploadInvalidArgument' },
];

/** Maps a service's error code to the specification's. */
export function specifiedCode(code: string): string {
  return codeAliases.find((alias) => alias.deployed === code)?.specified ?? code;
}

/** Renames deployed field names of a JSON object to the specification's; nested values are unchanged. */
export function readAliases<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  // Few objects have such a field, and copying all objects of a list would take longer than the rest of reading it.
  if (!fieldAliases.some(({ deployed }) => Object.hasOwn(value, deployed))) return value;
  const result: Record<string, unknown> = Object.fromEntries(Object.entries(value));
  for (const { specified, deployed } of fieldAliases) {
    if (!(deployed in result)) continue;
    result[specified] ??= result[deployed];
    delete result[deployed];
  }
  return result as T;
}

/** Adds the deployed name of each field, for sending. */
export function writeAliases(value: Record<string, unknown>): Record<string, unknown> {
  const both = fieldAliases.filter(({ specified }) => value[specified] !== undefined);
  return { ...value, ...Object.fromEntries(both.map(({ specified, deployed }) => [deployed, value[specified]])) };
}
