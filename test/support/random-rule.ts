import type { RuleRequest } from '../../src/policy/evaluate.ts';
import { createRandom } from './random.ts';

/** Random well-formed rules as text, and random requests that they are asked about. */

interface Random {
  pick<T>(items: readonly T[]): T;
  chance(probability: number): boolean;
  /** A whole number, both ends included. */
  whole(least: number, most: number): number;
}

/** Choices that are the same for the same seed. */
export function createChoices(seed: number): Random {
  const next = createRandom(seed);
  return {
    pick: <T>(items: readonly T[]) => items[Math.floor(next() * items.length)] as T,
    chance: (probability) => next() < probability,
    whole: (least, most) => least + Math.floor(next() * (most - least + 1)),
  };
}

const actions = ['getkey', 'listkeys', 'listdirectory', 'putsnaplink', 'getaccountlimits', 'addjobinputs', 'createjob', 'getobject'];
const actionWords = [...actions, 'getdirectory', 'putlink', 'managejob', 'getprovisioninglimits', '"getkey"', 'get*', '*key*', 'l*t*s'];
const expressions = ['/^list/::regex', '/^list/', '/KEY/i::regexp', '/^(get|put)[a-k]/::regex', '/s$/::regex'];
const paths = ['/demo/stor/1', '/demo/keys/2', '/demo', '/other/stor/3'];
const pathWords = [...paths, '"/demo/stor/1"', '/demo/*', '/^\\/demo/::regex', '*/2'];
const addresses = ['10.1.2.3', '10.255.0.1', '192.168.7.9', '0.0.0.0', '255.255.255.255', '::1', '2001:db8::5', 'fe80::1:2', '::'];
const networks = [
  '10.0.0.0/8',
  '10.1.2.3',
  '10.1.2.2/31',
  '0.0.0.0/0',
  '"::/0"',
  '"2001:db8::/32"',
  '"::1"',
  '"fe80::/10"',
  '"::/96"',
  '::/0',
];
const moments = ['2026', '2026-04-15', '2026/04/15', '2026-04-15T09:30:00Z', '"2026-04-15 09:30"', '2030-12-31T23:59:59Z', '1970-01-01'];
const times = ['00:00', '08:00:00', '9:30', '23:59:59', '2026-04-15T09:30:00Z'];
const days = ['1', '7', 'm', 't', 'tu', 'w', 'th', 'F', 's', 'su', 'MON', 'tues', 'wednesday', '2026-04-15T00:00:00Z'];
const numbers = ['0', '10', '0x10', '-2.5', '1e1', '16'];
const texts = ['GET', 'put', 'curl', '"two words"', 'bob', '""', 'é', '"can"'];
const patterns = ['/^c/', '/GET/i', '"/o w/"', '/[0-9]+$/', '/./'];
const ordered = ['=', '!=', '<', '>', '<=', '>='];

interface Form {
  readonly names: readonly string[];
  readonly operators: readonly string[];
  readonly values: readonly string[];
}

const forms: readonly Form[] = [
  { names: ['sourceip', 'ip::ip', 'sourceip::ip'], operators: ['=', '!=', 'IN'], values: networks },
  { names: ['date', 'requesttime::date'], operators: [...ordered, 'IN'], values: moments },
  { names: ['time', 'requesttime::time'], operators: [...ordered, 'IN'], values: times },
  { names: ['day', 'requesttime::day'], operators: [...ordered, 'IN'], values: days },
  { names: ['size::number'], operators: [...ordered, 'IN'], values: numbers },
  { names: ['fromjob', 'overwrite'], operators: ['=', '!=', 'IN'], values: ['true', 'FALSE'] },
  { names: ['method', 'user-agent', 'owner', 'datacenter::string'], operators: [...ordered, 'IN'], values: texts },
  { names: ['method', 'user-agent', 'owner'], operators: ['LIKE'], values: patterns },
  { names: ['activeroles', 'activeRoles', 'activeroles::array'], operators: ['CONTAINS'], values: ['ops', 'dev', '"night shift"'] },
];

/** A word of the language in any case. */
function anyCase(random: Random, word: string): string {
  return random.pick([word, word.toLowerCase(), (word[0] ?? '') + word.slice(1).toLowerCase()]);
}

function writeList(random: Random, words: readonly string[]): string {
  if (random.chance(0.12)) return random.pick(['*', anyCase(random, 'ALL'), anyCase(random, 'EVERYTHING')]);
  const items = Array.from({ length: random.whole(1, 3) }, () => random.pick(words));
  const last = items.pop() ?? '';
  return items.length === 0 ? last : `${items.join(random.pick([', ', ',']))} ${anyCase(random, 'AND')} ${last}`;
}

function writeComparison(random: Random): string {
  const { names, operators, values } = random.pick(forms);
  const operator = random.pick(operators);
  const list = Array.from({ length: random.whole(1, 3) }, () => random.pick(values)).join(', ');
  const value = operator === 'IN' ? `(${list})` : random.pick(values);
  return `${random.pick(names)} ${/^[A-Z]/u.test(operator) ? anyCase(random, operator) : operator} ${value}`;
}

function writeCondition(random: Random, depth: number): string {
  const kind = depth === 0 ? 0 : random.whole(0, 4);
  if (kind < 2) return writeComparison(random);
  const inner = (): string => writeCondition(random, depth - 1);
  if (kind === 2) return `${anyCase(random, 'NOT')} (${inner()})`;
  if (kind === 3) return `${inner()} ${anyCase(random, 'AND')} ${inner()}`;
  return random.chance(0.5) ? `(${inner()} ${anyCase(random, 'OR')} ${inner()})` : `${inner()} ${anyCase(random, 'OR')} ${inner()}`;
}

/** A well-formed rule. */
export function writeRule(random: Random): string {
  const principals = random.chance(0.06) ? `${random.pick(['*', 'fred', 'fred AND bob'])} ` : '';
  const not = random.chance(0.05) ? ` ${anyCase(random, 'NOT')}` : '';
  const resources = random.chance(0.2) ? ` ${writeList(random, pathWords)}` : '';
  const condition = random.chance(0.8) ? ` ${anyCase(random, random.pick(['IF', 'WHEN', 'WHERE']))} ${writeCondition(random, 3)}` : '';
  return `${principals}${anyCase(random, 'CAN')}${not} ${writeList(random, [...actionWords, ...expressions])}${resources}${condition}`;
}

/** A request; now and then something that conditions ask for is missing. */
export function makeRequest(random: Random): RuleRequest {
  const maybe = <T>(value: T): T | undefined => (random.chance(0.1) ? undefined : value);
  const now = random.pick([
    Date.UTC(2026, 3, 15, 9, 30),
    Date.UTC(2026, 0, 1),
    0,
    Date.UTC(2026, random.whole(0, 11), random.whole(1, 28), 8),
  ]);
  const conditions = {
    ...(random.chance(0.8) && { size: random.pick([0, 10, 16, -2.5, 1_000_000]) }),
    ...(random.chance(0.7) && { fromjob: random.chance(0.5), overwrite: random.chance(0.5) }),
    ...(random.chance(0.7) && { owner: random.pick(['bob', 'two words', 'é', 'x9']) }),
  };
  return {
    action: random.pick(actions),
    resource: random.pick(paths),
    now,
    method: maybe(random.pick(['GET', 'PUT', 'get'])),
    sourceip: maybe(random.pick(addresses)),
    userAgent: maybe(random.pick(['curl', 'two words 8', 'GET'])),
    activeRoles: maybe(random.pick([[], ['ops'], ['dev', 'night shift']])),
    datacenter: maybe('curl'),
    conditions,
  };
}
