import type { Field } from '../../src/api/fields.ts';

/** Chooses and draws, all from one seeded generator. */
export interface Draw {
  /** From 0 up to 1. */
  readonly next: () => number;
  readonly chance: (probability: number) => boolean;
  readonly below: (count: number) => number;
  readonly pick: <T>(items: readonly T[]) => T;
}

/** Draws from a generator of numbers. */
export function createDraw(next: () => number): Draw {
  const below = (count: number): number => Math.floor(next() * count);
  const pick = <T>(items: readonly T[]): T => {
    const item = items[below(items.length)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  };
  return { next, chance: (probability) => next() < probability, below, pick };
}

const uuid = '0f8fad5b-d9cb-469f-a165-70867728950e';

/** Texts that programs trip over. */
export const nastyTexts: readonly string[] = [
  '',
  ' ',
  '\t',
  '0',
  '-1',
  '-0',
  '1e308',
  '1e999',
  '9007199254740993',
  '18446744073709551616',
  'NaN',
  'Infinity',
  'null',
  'undefined',
  'true',
  '[]',
  '{}',
  '[[[[',
  '{"a":',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '.',
  '..',
  '../../etc/passwd',
  '%2e%2e',
  '%',
  '%zz',
  '%00',
  '%ff%fe',
  '%F0%9F%98%80',
  '\u0000',
  '\u001b[31mred',
  '\u202Eabc',
  '\u{1f600}',
  '\ud800',
  'I\u0307',
  '\u00e9'.normalize('NFD'),
  "' OR 1=1 --",
  '"; DROP TABLE entries; --',
  '${jndi:x}',
  '$(true)',
  '*',
  '?',
  ',',
  ',,a,,',
  'a,b,c',
  uuid,
  uuid.toUpperCase(),
  `${uuid}x`,
  '1969-12-31T23:59:59Z',
  '+275760-09-13T00:00:00.001Z',
  'Thu, 01 Jan 1970 00:00:00 GMT',
  'CAN *',
  'CAN listkeys WHEN time::time = 25:00',
  `CAN ${'('.repeat(500)}`,
  'a'.repeat(256),
  'b'.repeat(1025),
  'c'.repeat(5000),
  '9'.repeat(400),
  ' '.repeat(3000),
  '\u{1f600}'.repeat(300),
];

function nest(depth: number, value: unknown): unknown {
  let nested = value;
  for (let level = 0; level < depth; level += 1) nested = level % 2 === 0 ? [nested] : { a: nested };
  return nested;
}

/** Any JSON value. */
export function drawJson(draw: Draw): unknown {
  return draw.pick<() => unknown>([
    () => draw.pick(nastyTexts),
    () => draw.pick([0, -1, 1.5, 1e308, -1e308, 2 ** 53, 2 ** 63, 4.9e-324]),
    () => draw.pick([null, true, false]),
    () => [],
    () => ({}),
    () => [draw.pick(nastyTexts), draw.pick(nastyTexts)],
    () => ({ [draw.pick(nastyTexts)]: draw.pick(nastyTexts) }),
    () => JSON.parse('{"__proto__": {"isAdmin": true}, "constructor": {"prototype": {}}}') as unknown,
    () => nest(draw.pick([3, 50, 800]), draw.pick(nastyTexts)),
    () => Array.from({ length: draw.pick([100, 40_000]) }, (_, index) => `n${index}`),
    () => Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`k${index}`, index])),
  ])();
}

/** Values that operations take, by the name of the field. */
function drawGood(draw: Draw, name: string, keys: readonly string[]): unknown {
  const word = draw.pick(['a', 'b', 'c', 'reader', 'writer', 'bob', 'eve']);
  const known: Readonly<Record<string, () => unknown>> = {
    key: () => draw.pick(keys),
    email: () => `${word}@example.com`,
    password: () => 'secret123',
    password_confirmation: () => 'secret123',
    rules: () => draw.pick([['CAN listkeys'], ['CAN getobject', 'CAN * WHEN day = fri'], 'CAN getuser', ['CAN a, b AND c *']]),
    policies: () => [{ name: word }],
    members: () => [{ type: 'subuser', login: word, default: draw.chance(0.5) }],
    default_members: () => [word],
    'role-tag': () => draw.pick([[word], word, []]),
    phases: () => [{ exec: draw.pick(['cat', 'true', 'exit 1']), type: draw.pick(['map', 'reduce']) }],
    objectPath: () => `/demo/stor/${word}`,
    headers: () => ({ 'content-type': 'text/plain', 'm-a': word }),
    parts: () => [],
    action: () => 'update',
    storage_path: () => '/demo/stor',
    login: () => word,
    name: () => word,
    limit: () => draw.pick([1, 2, 1000]),
    version: () => '1.0.0',
  };
  return (known[name] ?? ((): unknown => word))();
}

/** A value for a field: right, nearly right, or anything. Commands of jobs are always harmless ones, for they are run. */
export function drawValue(draw: Draw, name: string, field: Field, keys: readonly string[]): unknown {
  const luck = draw.next();
  if (luck < 0.6) return drawGood(draw, name, keys);
  if (name === 'phases') {
    const phase = drawJson(draw);
    const extra =
      typeof phase === 'object' && phase !== null && !Array.isArray(phase)
        ? phase
        : { [draw.pick(['count', 'type', 'assets', 'init2', 'memory', 'disk'])]: phase };
    return [{ ...extra, exec: 'true', init: undefined }];
  }
  if (luck < 0.7 && field.kind === 'list') return [drawJson(draw), drawGood(draw, name, keys)];
  if (luck < 0.8 && name === 'key') return damage(draw, draw.pick(keys));
  return drawJson(draw);
}

/** A text with a piece left out, doubled or replaced. */
export function damage(draw: Draw, text: string): string {
  const from = draw.below(text.length + 1);
  const to = Math.min(text.length, from + 1 + draw.below(8));
  const instead = draw.pick(['', draw.pick(nastyTexts), text.slice(from, to).repeat(2), ' '.repeat(20_000)]);
  return text.slice(0, from) + instead + text.slice(to);
}
