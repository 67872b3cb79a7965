import type { Infer } from '../../api/fields.ts';
import type { contactFields } from '../../api/resources.ts';
import { ApiError } from '../../base/errors.ts';
import type { AccountRow } from '../store/schema.ts';

type Contact = Infer<typeof contactFields>;
type ContactRow = Pick<AccountRow, (typeof columns)[keyof typeof columns] | 'email' | 'created' | 'updated'>;

/** Column of each optional contact field. */
const columns = {
  companyName: 'company_name',
  firstName: 'first_name',
  lastName: 'last_name',
  address: 'address',
  postalCode: 'postal_code',
  city: 'city',
  state: 'state',
  country: 'country',
  phone: 'phone',
} as const satisfies Partial<Record<keyof Contact, keyof AccountRow>>;

/** The columns of the optional contact fields. */
export const contactColumns = Object.values(columns);

const fields = Object.keys(columns) as (keyof typeof columns)[];

/** Columns of empty contact fields. */
export const emptyContact = Object.fromEntries(contactColumns.map((column) => [column, null])) as Record<
  (typeof columns)[keyof typeof columns],
  null
>;

/** Contact fields of an account or sub-user as the API shows them: empty fields are omitted, dates are ISO 8601. */
export function showContact(row: ContactRow): Contact & { email: string; created: string; updated: string } {
  const filled = fields.map((field) => [field, row[columns[field]]] as const).filter(([, value]) => value !== null && value !== '');
  return {
    email: row.email,
    ...Object.fromEntries(filled),
    created: new Date(row.created).toISOString(),
    updated: new Date(row.updated).toISOString(),
  };
}

/** The columns that an update changes; an empty string clears a column. */
export function readContact(input: Contact): Partial<ContactRow> {
  const given = fields.filter((field) => input[field] !== undefined);
  const changes = Object.fromEntries(given.map((field) => [columns[field], input[field] === '' ? null : input[field]]));
  return { ...changes, ...(input.email !== undefined && { email: input.email }) };
}

/** @throws {ApiError} 409 `InvalidArgument` if the text does not look like an e-mail address */
export function checkEmail(email: string | undefined): void {
  if (email === undefined || /^[^\s@]+@[^\s@]+$/u.test(email)) return;
  throw new ApiError(409, 'InvalidArgument', `email must be an e-mail address, not "${email}"`);
}
