import { CloudError, exitCodes } from '../../base/errors.ts';

/**
 * The database cannot be reached at the moment, or did not respond in time. A transaction may still have been committed: stored bytes that
 * it was to name must be kept.
 */
export class StoreUnavailable extends CloudError {
  readonly code = 'Unavailable';
  readonly exitCode = exitCodes.failed;
}
