import { describe, expect, test } from 'vitest';
import { evaluateRule, type Outcome, type RuleRequest } from '../../../src/policy/evaluate.ts';
import { parseRule } from '../../../src/policy/parser.ts';

/** A Wednesday, 14:30:15 UTC. */
const base: RuleRequest = {
  action: 'getkey',
  resource: '/demo/keys/laptop',
  now: Date.UTC(2026, 3, 15, 14, 30, 15, 250),
  method: 'GET',
  sourceip: '10.1.2.3',
  userAgent: 'curl/8.5.0 (x86_64)',
  activeRoles: ['ops', 'night shift'],
  datacenter: 'east-1',
  conditions: { owner: 'demo', overwrite: false, size: 42, tags: 'a, b', odd: {} },
};

const yes: Outcome = 'allows';
const no: Outcome = 'condition-false';
const missing: Outcome = 'missing-name';

const identifiers: [rule: string, outcome: Outcome][] = [
  ['CAN getkey', yes],
  ['CAN getkeys', 'not-action'],
  ['CAN GetKey', 'not-action'],
  ['CAN listkeys AND getkey', yes],
  ['CAN *', yes],
  ['CAN "*"', 'not-action'],
  ['CAN get*', yes],
  ['CAN *key', yes],
  ['CAN *', yes],
  ['CAN g*t*y', yes],
  ['CAN g*k*t*', 'not-action'],
  ['CAN et*', 'not-action'],
  ['CAN *ke', 'not-action'],
  ['CAN getkey*', yes],
  ['CAN getk*key', 'not-action'],
  ['CAN /^get/', yes],
  ['CAN /key/', yes],
  ['CAN /^key/', 'not-action'],
  ['CAN /^GET/', 'not-action'],
  ['CAN /^GET/i', yes],
  ['CAN getkey *', yes],
  ['CAN getkey /demo/keys/laptop', yes],
  ['CAN getkey /demo/keys', 'not-resource'],
  ['CAN getkey /demo/keys/*', yes],
  ['CAN getkey /^.demo.keys/', yes],
  ['CAN getkey /other/', 'not-resource'],
  ['fred CAN getkey', 'principal'],
  ['* CAN getkey', yes],
  ['fred CAN listkeys', 'not-action'],
  ['CAN NOT getkey', 'negative'],
  ['CAN NOT listkeys', 'not-action'],
];

const conditions: [condition: string, outcome: Outcome][] = [
  ['day = wed', yes],
  ['day = 3', yes],
  ['day = w', yes],
  ['day = Wednesday', yes],
  ['day != wed', no],
  ['day != thu', yes],
  ['day > tue', yes],
  ['day < wed', no],
  ['day >= wed', yes],
  ['day <= tu', no],
  ['day IN (mon, tue)', no],
  ['day IN (mon, wed)', yes],
  ['requesttime::day = wed', yes],
  ['date::day = wed', yes],
  ['size::day = 3', missing],
  ['time = 14:30', no],
  ['time = 14:30:15', yes],
  ['time != 14:30:15', no],
  ['time > 14:30', yes],
  ['time > 14:30:15', no],
  ['time >= 14:30:15', yes],
  ['time < 15:00', yes],
  ['time <= 9:00', no],
  ['time IN (09:00, 14:30:15)', yes],
  ['requesttime::time > 08:00', yes],
  ['date = 2026-04-15T14:30:15.250Z', yes],
  ['date = 2026-04-15', no],
  ['date != 2026-04-15', yes],
  ['date > 2026-04-15', yes],
  ['date < 2026-04-16', yes],
  ['date >= 2026-04-15T14:30:15.250', yes],
  ['date <= 2026-04-15T16:30:15.250+02:00', yes],
  ['date <= 2026-04-15T16:30:15+0200', no],
  ['date > "Wed, 15 Apr 2026 14:00:00 GMT"', yes],
  ['date IN (2026-04-15, 2026-04-16)', no],
  ['requesttime::date > 2026-01-01', yes],
  ['sourceip = 10.1.2.3', yes],
  ['sourceip = 10.1.2.4', no],
  ['sourceip != 10.1.2.4', yes],
  ['sourceip = 10.0.0.0/8', yes],
  ['sourceip = 10.1.2.0/31', no],
  ['sourceip = 10.1.2.2/31', yes],
  ['sourceip = 0.0.0.0/0', yes],
  ['sourceip != 10.0.0.0/8', no],
  ['sourceip IN (192.168.0.0/16, 10.1.0.0/16)', yes],
  ['sourceip IN (192.168.0.0/16, 172.16.0.0/12)', no],
  ['sourceip = ::ffff:10.1.2.3', yes],
  ['sourceip = ::ffff:10.0.0.0/104', yes],
  ['sourceip = ::/0', yes],
  ['sourceip != "::/0"', no],
  ['sourceip = "::ffff:0:0/96"', yes],
  ['sourceip = "2001:db8::/32"', no],
  ['date > 2026', yes],
  ['date < 2026', no],
  ['date >= 2026/04/15', yes],
  ['date < "2026/04/15 14:30"', no],
  ['time > 2030-01-01T14:00:00Z', yes],
  ['day = 2026-04-15T00:00:00Z', yes],
  ['day IN (t, th, s, su)', no],
  ['method LIKE /^GET$/', yes],
  ['method LIKE /^get$/', yes],
  ['method > a', yes],
  ['ip::ip = 10.1.2.3', yes],
  ['method = GET', yes],
  ['method = get', yes],
  ['method != PUT', yes],
  ['method IN (GET, HEAD)', yes],
  ['method IN (PUT, POST)', no],
  ['method > A', yes],
  ['method < A', no],
  ['method >= GET', yes],
  ['method <= GET', yes],
  ['user-agent LIKE /curl/', yes],
  ['user-agent LIKE /CURL/', no],
  ['user-agent LIKE /CURL/i', yes],
  ['user-agent LIKE /^curl\\/8\\.\\d/', yes],
  ['user-agent LIKE "/(x86_64)/"', yes],
  ['datacenter::string = east-1', yes],
  ['activeRoles CONTAINS ops', yes],
  ['activeroles CONTAINS "night shift"', yes],
  ['activeroles CONTAINS dev', no],
  ['tags::array CONTAINS b', yes],
  ['tags::array CONTAINS c', no],
  ['overwrite = false', yes],
  ['overwrite = true', no],
  ['overwrite != true', yes],
  ['overwrite IN (true, false)', yes],
  ['size::number = 42', yes],
  ['size::number = 42.0', yes],
  ['size::number = 0x2a', yes],
  ['size::number > 0x2A', no],
  ['size::number != 42', no],
  ['size::number > 41.5', yes],
  ['size::number < 42', no],
  ['size::number <= 42', yes],
  ['size::number >= 43', no],
  ['size::number IN (1, 42)', yes],
  ['size::string = 42', yes],
  ['owner = demo', yes],
  ['owner = Demo', no],
  ['fromjob = true', missing],
  ['fromjob != true', missing],
  ['NOT fromjob = true', missing],
  ['NOT (fromjob = true AND day = wed)', missing],
  ['fromjob = true OR day = wed', missing],
  ['day = wed OR fromjob = true', yes],
  ['day = mon AND fromjob = true', no],
  ['day = wed AND fromjob = true', missing],
  ['foo::string = x', missing],
  ['constructor::string = x', missing],
  ['odd::string = x', missing],
  ['owner::number = 1', missing],
  ['owner::ip = 10.0.0.1', missing],
  ['NOT owner::ip = 10.0.0.1', missing],
  ['owner::date > 2026-01-01', missing],
  ['owner::time > 10:00', missing],
  ['owner::day = mon', missing],
  ['owner::boolean = true', missing],
  ['size::array CONTAINS 4', missing],
  ['NOT day = wed', no],
  ['NOT NOT day = wed', yes],
  ['day = wed AND time > 9:00', yes],
  ['day = wed AND time > 15:00', no],
  ['day = mon OR time > 9:00', yes],
  ['day = mon OR day = tue', no],
  ['day = mon AND day = tue OR day = wed', yes],
  ['day = wed OR day = mon AND day = tue', yes],
  ['(day = wed OR day = mon) AND day = tue', no],
  ['NOT day = mon AND day = wed', yes],
  ['NOT (day = mon AND day = wed)', yes],
];

describe('identifiers', () => {
  test.each(identifiers)('%s', (rule, outcome) => {
    expect(evaluateRule(parseRule(rule), base).outcome).toBe(outcome);
  });
});

describe('conditions', () => {
  test.each(conditions)('%s', (condition, outcome) => {
    expect(evaluateRule(parseRule(`CAN getkey WHEN ${condition}`), base).outcome).toBe(outcome);
  });
});

function evaluate(condition: string, changes: Partial<RuleRequest>): Outcome {
  return evaluateRule(parseRule(`CAN getkey WHEN ${condition}`), { ...base, ...changes }).outcome;
}

test('every day of a week, from Monday on, by number, name and its beginnings', () => {
  const names = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
  for (const [index, name] of names.entries()) {
    const now = Date.UTC(2026, 3, 13 + index, 23, 59, 59);
    for (const written of [String(index + 1), name, name.slice(0, 2), name.slice(0, 3), name.toUpperCase()]) {
      expect([written, evaluate(`day = ${written}`, { now })]).toEqual([written, yes]);
      expect([written, evaluate(`day = ${written}`, { now: now + 1000 })]).toEqual([written, no]);
    }
  }
});

test('times before the epoch and at midnight', () => {
  expect(evaluate('time = 23:59:59 AND day = wed', { now: -1 })).toBe(yes);
  expect(evaluate('time = 00:00 AND day = th', { now: 0 })).toBe(yes);
});

test('addresses of IPv6, mapped ones and ones with a zone', () => {
  expect(evaluate('sourceip = 2001:db8::/32', { sourceip: '2001:db8:1:2::3' })).toBe(yes);
  expect(evaluate('sourceip = 2001:db8::/32', { sourceip: '2001:db9::3' })).toBe(no);
  expect(evaluate('sourceip = 2001:db8:0:0:0:0:0:3', { sourceip: '2001:DB8::3' })).toBe(yes);
  expect(evaluate('sourceip = ::1', { sourceip: '::1' })).toBe(yes);
  expect(evaluate('sourceip = 10.0.0.0/8', { sourceip: '::ffff:10.9.9.9' })).toBe(yes);
  expect(evaluate('sourceip = fe80::/10', { sourceip: 'fe80::1%eth0' })).toBe(yes);
  expect(evaluate('NOT sourceip = 10.0.0.0/8', { sourceip: 'unknown' })).toBe(missing);
});

test('names that the request lacks are missing; the ones of the service win over given ones', () => {
  for (const name of ['method', 'sourceip', 'userAgent', 'activeRoles', 'datacenter'] as const) {
    const condition = {
      method: 'method != x',
      sourceip: 'ip::ip != 1.1.1.1',
      userAgent: 'user-agent != x',
      activeRoles: 'NOT activeroles CONTAINS x',
      datacenter: 'datacenter::string != x',
    }[name];
    expect(evaluate(condition, {})).toBe(yes);
    expect(evaluate(condition, { [name]: undefined })).toBe(missing);
  }
  expect(evaluate('method = PUT', { conditions: { method: 'PUT' } })).toBe(no);
  expect(evaluate('owner = x', { conditions: { owner: null } })).toBe(missing);
  expect(evaluate('day = mon', { now: Number.NaN })).toBe(missing);
});

test('a subject too long for a pattern does not turn NOT into a permission', () => {
  expect(evaluate('NOT user-agent LIKE /bot/', { userAgent: `${'x'.repeat(5000)}bot` })).toBe(missing);
});

test('the detail names the condition that does not hold, or the missing name', () => {
  const ask = (condition: string) => evaluateRule(parseRule(`CAN getkey WHEN ${condition}`), base);
  expect(ask('day = wed AND time > 15:00')).toEqual({ outcome: no, detail: 'time > 15:00' });
  expect(ask('day = mon OR day = tue')).toEqual({ outcome: no, detail: 'day = mon OR day = tue' });
  expect(ask('NOT method = GET')).toEqual({ outcome: no, detail: 'NOT method = GET' });
  expect(ask('day = wed AND fromjob = true')).toEqual({ outcome: missing, detail: 'fromjob' });
});
