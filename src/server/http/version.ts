import { ApiError } from '../../base/errors.ts';

/** API versions of the compute service (specification, section 9), newest last. */
export const apiVersions = ['7.0.0', '7.1.0', '7.2.0', '7.3.0', '8.0.0', '9.0.0'] as const;

/** True before version 9, in which roles contain the names of their members and policies. */
export function hasOldRoles(version: string): boolean {
  return !version.startsWith('9.');
}

/** True before version 8, which renamed the types of images. */
export function hasOldImageTypes(version: string): boolean {
  return version.startsWith('7.');
}

/** Version of the code, sent in the `Server` header. */
export const codeVersion = '9.13.0';

type Triple = readonly [number, number, number];

/** Version of responses to requests that do not name a supported version. */
export const newestVersion = '9.0.0';
const comparator = /^(?<operator>~|\^|>=|<=|>|<|=)?\s*v?(?<version>\*|x|\d+(?:\.(?:\d+|x|\*)){0,2})$/iu;

function parseTriple(version: string): { low: Triple; precision: number } {
  const numbers = version.split('.').map(Number);
  const precision = numbers.findIndex((number) => Number.isNaN(number));
  const [major = 0, minor = 0, patch = 0] = numbers.map((number) => (Number.isNaN(number) ? 0 : number));
  return { low: [major, minor, patch], precision: precision === -1 ? numbers.length : precision };
}

function compareTriples(left: Triple, right: Triple): number {
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2];
}

/** The first version above all versions that a partial version covers: `9` covers versions below 10, `9.1` those below 9.2. */
function endOf([major, minor, patch]: Triple, precision: number): Triple {
  if (precision === 0) return [Infinity, 0, 0];
  if (precision === 1) return [major + 1, 0, 0];
  return precision === 2 ? [major, minor + 1, 0] : [major, minor, patch + 1];
}

function satisfies(version: Triple, text: string): boolean | undefined {
  const { operator = '=', version: given = '' } = comparator.exec(text)?.groups ?? {};
  if (given === '') return undefined;
  const { low, precision } = parseTriple(given);
  const end = endOf(low, precision);
  switch (operator) {
    case '~':
      return compareTriples(version, low) >= 0 && compareTriples(version, endOf(low, Math.min(precision, 2))) < 0;
    case '^':
      return compareTriples(version, low) >= 0 && compareTriples(version, endOf(low, Math.min(precision, 1))) < 0;
    case '>=':
      return compareTriples(version, low) >= 0;
    case '>':
      return compareTriples(version, end) >= 0;
    case '<':
      return compareTriples(version, low) < 0;
    case '<=':
      return compareTriples(version, end) < 0;
    default:
      return compareTriples(version, low) >= 0 && compareTriples(version, end) < 0;
  }
}

/** True if a version is in one alternative of a range; undefined if the range is invalid. */
function lies(version: string, alternative: string): boolean | undefined {
  const { low } = parseTriple(version);
  const parts = alternative.replaceAll(/([~^<>=])\s+/gu, '$1').split(/\s+/u);
  const answers = parts.map((part) => satisfies(low, part));
  return answers.includes(undefined) ? undefined : answers.every(Boolean);
}

/**
 * The newest supported version in a range such as `~8`, `~9||~8`, `7.0.0`, `*` (specification, section 9).
 * @throws {ApiError} 449 if the range is missing, invalid, or contains no supported version.
 */
export function chooseVersion(range: string | undefined): string {
  if (range === undefined || range.trim() === '') {
    throw new ApiError(449, 'InvalidVersion', `send Accept-Version with a range of versions; supported: ${apiVersions.join(', ')}`);
  }
  const alternatives = range.split('||').map((alternative) => alternative.trim());
  const chosen = apiVersions.findLast((version) => alternatives.some((alternative) => lies(version, alternative) === true));
  if (chosen !== undefined) return chosen;
  const valid = alternatives.every((alternative) => lies(newestVersion, alternative) !== undefined);
  const reason = valid ? 'no supported version is in the range' : 'not a range of versions:';
  throw new ApiError(449, 'InvalidVersion', `${reason} ${range}; supported: ${apiVersions.join(', ')}`);
}
