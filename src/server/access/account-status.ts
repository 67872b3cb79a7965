import { ApiError } from '../../base/errors.ts';
import type { AccountRow } from '../store/schema.ts';

/**
 * Denies every access to an account that the operator disabled and to its data, public or not.
 * @throws {ApiError} 403 `NotAuthorized`, on both services.
 */
export function assertEnabled({ login, status }: Pick<AccountRow, 'login' | 'status'>): void {
  if (status === 'enabled') return;
  throw new ApiError(403, 'NotAuthorized', `the account ${login} is disabled`);
}
