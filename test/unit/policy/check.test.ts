import { describe, expect, test } from 'vitest';
import { compute } from '../../../src/api/compute.ts';
import { storage } from '../../../src/api/storage.ts';
import { policies as guide } from '../../../src/cli/guides/policies.ts';
import { knownActions } from '../../../src/policy/actions.ts';
import { checkRules } from '../../../src/policy/check.ts';
import { findOmissions } from '../../../src/policy/omissions.ts';

const known = knownActions();

describe('the known actions', () => {
  test('are the operations of both services and those on instances, in lower case', () => {
    for (const operation of [...Object.values(compute), ...Object.values(storage)]) expect(known).toContain(operation.name.toLowerCase());
    // Named in the compute document, section 2, "Policy", and in the architecture's decisions.
    for (const action of ['listmachines', 'getmachine', 'stopmachine', 'startmachine', 'rebootmachine', 'createmachine', 'renamemachine']) {
      expect(known).toContain(action);
    }
    for (const action of ['setroletags', 'importimagefromdatacenter', 'putsnaplink', 'listdirectory', 'createjob'])
      expect(known).toContain(action);
    for (const action of known) expect(action).toMatch(/^[a-z]+$/);
  });
});

describe('nothing to say', () => {
  test.each([
    'CAN getkey',
    'CAN getkey AND listkeys WHEN day = mon',
    'CAN getobject WHEN sourceip = 10.0.0.0/8 OR fromjob = true',
    'CAN /^list/::regex',
    'CAN /^list/i::regexp AND getkey',
    'CAN getobject WHEN sourceip != "::/0" AND fromjob = true',
    'CAN getobject WHEN user-agent LIKE "/a b/" AND day IN (m, t, tue, thursday, 7)',
    'CAN getobject /demo/stor/*',
    'CAN list*',
    'CAN get*',
    'CAN list*user*keys',
    'CAN getkey WHEN time > 08:00:00 AND time < 18:00:00',
    'CAN getkey WHEN time > 18:00:00 OR time < 08:00:00',
    'CAN getkey WHEN requesttime::time > 18:00:00 AND requesttime::day = mon',
    'CAN getkey WHEN NOT (day = mon AND day = tue)',
    'CAN getkey WHEN method != GET AND method != PUT',
    'CAN getkey WHEN sourceip = 10.0.0.0/8 AND sourceip = 10.1.0.0/16',
  ])('%s', (rule) => {
    expect(checkRules([rule], known)).toEqual([]);
  });
});

const findings: [rule: string, severity: 'error' | 'warning', offset: number, length: number, message: string, suggestion?: string][] = [
  ['CAN a, b', 'error', 5, 1, 'follows AND, not a comma'],
  ['', 'error', 0, 0, 'the rule is empty'],
  ['CAN getkeys', 'warning', 4, 7, '"getkeys" is not a known action: did you mean getkey?', 'getkey'],
  ['CAN listkeys, lsitusers AND getkey', 'warning', 14, 9, 'did you mean listusers?', 'listusers'],
  ['CAN frobnicate', 'warning', 4, 10, '"frobnicate" is not a known action'],
  ['CAN getdirectory', 'warning', 4, 12, 'grants listdirectory: write listdirectory', 'listdirectory'],
  ['CAN putlink', 'warning', 4, 7, 'grants putsnaplink: write putsnaplink', 'putsnaplink'],
  ['CAN listKeys', 'warning', 4, 8, 'actions are in lower case: "listKeys" never matches, write listkeys', 'listkeys'],
  ['CAN "GetKeys"', 'warning', 4, 9, 'write getkey', 'getkey'],
  ['CAN NOT getkey', 'warning', 0, 7, 'CAN NOT has no effect'],
  ['fred, bob AND jane CAN getkey', 'warning', 0, 18, 'a rule with principals never matches'],
  ['CAN get', 'warning', 4, 3, 'not a known action'],
  ['CAN key*', 'warning', 4, 4, '"key*" matches no known action'],
  ['CAN List*', 'warning', 4, 5, 'actions are in lower case', 'list*'],
  ['CAN machine*', 'warning', 4, 8, 'deployed services match loosely and also allow '],
  ['CAN *key', 'warning', 4, 4, 'also allow '],
  ['CAN l*u*r*keys', 'warning', 4, 10, 'not allow listuserkeys'],
  ['CAN managejob', 'warning', 4, 9, 'grants addjobinputs, endjobinput, canceljob and 4 more: write these'],
  ['CAN getprovisioninglimits', 'warning', 4, 21, 'write getaccountlimits', 'getaccountlimits'],
  ['CAN /^list/', 'warning', 4, 7, 'write an expression as /^list/::regex', '/^list/::regex'],
  ['CAN getkey IF time > 8:00', 'warning', 21, 4, 'without seconds', '08:00:00'],
  ['CAN getkey IF fromjob = TRUE', 'warning', 24, 4, 'in lower case only', 'true'],
  ['CAN getkey IF day=mon', 'warning', 14, 7, 'spaces around an operator'],
  ['CAN getkey IF day= mon', 'warning', 14, 8, 'spaces around an operator'],
  ['CAN getkey IF sourceip = fe80::/10', 'warning', 25, 9, 'quotation marks around IPv6', '"fe80::/10"'],
  ['CAN getkey IF day = tues', 'warning', 14, 10, 'do not know the day "tues"'],
  ['CAN getkey IF user-agent LIKE /a b/', 'warning', 14, 21, 'quotation marks around an expression'],
  ['CAN /^GET/::regex', 'warning', 4, 13, 'matches no known action'],
  ['CAN getkey listkeys', 'warning', 11, 8, '"listkeys" is parsed as a resource, so the rule never matches: separate'],
  ['CAN getkey keys', 'warning', 11, 4, '"keys" is not a path'],
  ['CAN getkey IF foo::string = x', 'warning', 14, 15, 'no request has a "foo"'],
  ['CAN getkey IF SourceIp::ip = 10.0.0.1', 'warning', 14, 23, 'did you mean sourceip?'],
  ['CAN getkey IF day = mon AND day = tue', 'warning', 28, 9, 'is never true: use OR for alternatives'],
  ['CAN getkey IF time > 18:00:00 AND time < 08:00:00', 'warning', 34, 15, 'use OR for a range over midnight'],
  ['CAN getkey IF time > 08:00:00 AND requesttime::time < 08:00:00', 'warning', 34, 28, 'is never true'],
  ['CAN getkey IF time >= 08:00:00 AND time < 8:00:00', 'warning', 35, 14, 'is never true'],
  ['CAN getkey IF method = GET OR (method = GET AND method = PUT)', 'warning', 48, 12, 'is never true'],
  ['CAN getkey IF owner = bob', 'warning', 14, 11, 'no request has an "owner", and a rule that compares a missing name grants nothing'],
  ['CAN putobject AND putmetadata IF overwrite = true', 'warning', 33, 16, 'no request has an "overwrite"'],
  [
    'CAN getkey WHEN requesttime::date = 2026-12-31',
    'warning',
    16,
    30,
    'a date is compared to the millisecond, so that this is practically always false: write (requesttime::date >= 2026-12-31 AND ',
    '(requesttime::date >= 2026-12-31 AND requesttime::date < 2027-01-01)',
  ],
  ['CAN getkey WHEN NOT date != 2024/02/28', 'warning', 20, 18, 'practically always true', '(date < 2024-02-28 OR date >= 2024-02-29)'],
  [
    'CAN getkey WHEN date IN (2026, 2028-02-29) AND day = mon',
    'warning',
    16,
    26,
    'practically always false',
    '(date >= 2026-01-01 AND date < 2027-01-01 OR date >= 2028-02-29 AND date < 2028-03-01)',
  ],
  ['CAN getkey WHEN date = 2026-12-31T10:00:00Z', 'warning', 16, 27, 'write a range with >= and <'],
  ['CAN getkey WHEN date = 9999-12-31', 'warning', 16, 17, 'write a range with >= and <'],
  ['CAN "AND"', 'warning', 4, 5, '"AND" never matches, write "and"', '"and"'],
  ['CAN "Do It"', 'warning', 4, 7, 'write "do it"', '"do it"'],
  ['CAN getkey IF date > 2026-02-01 AND date < 2026-01-01', 'warning', 36, 17, 'is never true'],
];

test.each(findings)('%s: %s at %d', (rule, severity, offset, length, message, suggestion) => {
  const [finding, ...others] = checkRules([rule], known).filter((each) => !each.message.includes('full control'));
  expect(others).toEqual([]);
  expect(finding).toMatchObject({ severity, place: { rule: 0, offset, length } });
  expect(finding?.message).toContain(message);
  expect(finding?.suggestion).toBe(suggestion);
});

test.each(findings.filter(([, , , , , suggestion]) => suggestion !== undefined))('the suggestion for %s can be parsed', (rule) => {
  const [{ place, suggestion = '' } = { place: { offset: 0, length: 0 } }] = checkRules([rule], known);
  const corrected = rule.slice(0, place.offset) + suggestion + rule.slice(place.offset + place.length);
  const errors = checkRules([corrected], known).filter(({ severity }) => severity === 'error');
  expect([corrected, errors]).toEqual([corrected, []]);
});

describe('a right that gives full control is named, with the way', () => {
  test.each([
    ['CAN createrole', 'createrole gives full control of the account: it creates roles'],
    ['CAN updaterole WHEN day = mon', 'updaterole gives full'],
    ['CAN updatepolicy /demo/policies/x', 'updatepolicy gives full'],
    ['CAN setroletags', 'setroletags gives full'],
    ['CAN listkeys AND createkey', 'createkey gives full control of the account: it registers keys'],
    ['CAN createuserkey', 'createuserkey gives full'],
    ['CAN create*', 'each of createkey, createuserkey, createrole gives full'],
    ['CAN /role/', 'each of createrole, updaterole, setroletags gives full'],
    ['CAN *', 'each of createkey, createuserkey, createrole, updaterole, updatepolicy, setroletags gives full'],
  ])('%s', (rule, words) => {
    const found = checkRules([rule], known).filter(({ message }) => message.includes('full control'));
    expect(found).toMatchObject([{ severity: 'warning', message: expect.stringContaining(words) as string, place: { rule: 0 } }]);
  });

  test.each(['CAN NOT *', 'CAN createpolicy, deleterole AND listroles', 'CAN list*', 'CAN getkey'])('%s is none', (rule) => {
    expect(checkRules([rule], known).filter(({ message }) => message.includes('full control'))).toEqual([]);
  });
});

test('several findings in several rules, in order, with the index of the rule', () => {
  const found = checkRules(['CAN getkey', 'fred CAN NOT GetKey', 'CAN (', 'can getkey'], known);
  expect(found.map(({ severity, place }) => [severity, place.rule, place.offset])).toEqual([
    ['warning', 1, 0],
    ['warning', 1, 5],
    ['warning', 1, 13],
    ['error', 2, 4],
    ['warning', 3, 0],
  ]);
  expect(found.at(-1)?.message).toBe('this rule is equivalent to rule 1');
});

test('putobject without putmetadata in the policy is said, with its place', () => {
  const found = findOmissions(['CAN getobject', 'CAN getobject AND putobject WHEN day = mon', 'CAN (']);
  expect(found).toEqual([
    { severity: 'warning', message: expect.stringContaining('add putmetadata'), place: { rule: 1, offset: 18, length: 9 } },
  ]);
  for (const others of [['CAN putmetadata'], ['CAN put*'], ['CAN *'], ['CAN /^put/::regex']]) {
    expect(findOmissions(['CAN putobject', ...others])).toEqual([]);
  }
  expect(findOmissions(['CAN NOT putobject', 'CAN *object'])).toEqual([]);
  expect(findOmissions(['CAN putobject', 'CAN NOT putmetadata'])).toHaveLength(1);
});

test('a rule twice is an error, as the service refuses it', () => {
  expect(checkRules(['CAN getkey', 'CAN getkey'], known)).toEqual([
    { severity: 'error', message: 'this rule is the same as rule 1', place: { rule: 1, offset: 0, length: 10 } },
  ]);
});

test('there is nothing to object to the rules of the guide', () => {
  const lines = guide.sections.flatMap(({ blocks }) =>
    blocks.flatMap((block) => (typeof block === 'object' && 'lines' in block ? block.lines : [])),
  );
  const rules = lines.filter((line) => /^CAN (?!actions)/.test(line));
  expect(rules.length).toBeGreaterThan(3);
  expect(checkRules(rules, known)).toEqual([]);
});
