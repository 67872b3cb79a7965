import type { RuleRequest } from '../../src/policy/evaluate.ts';

/**
 * A second evaluator of the access-policy language, written from its description alone (compute-decisions, "The rule language") and sharing
 * nothing with the first: it reads well-formed rules only, and says whether they allow a request.
 */

/** Thrown where a name is missing or a value does not fit: the rule then does not allow. */
class Missing extends Error {}

const tokenForm =
  /\s*("(?:\\.|[^"\\])*"|\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\s[])+\/[gimsu]*(?:::regexp?)?(?=[\s,()]|$)|[(),]|[=<>!]+|[^\s(),"=<>!]+)/gy;

const unquote = (token: string): string => (token.startsWith('"') ? (JSON.parse(token) as string) : token);
const isExpression = (token: string): boolean => /^\/.+\/[gimsu]*(?:::regexp?)?$/su.test(token);
const readExpression = (token: string): RegExp => {
  const [, body = '', flags = ''] = /^\/(.*)\/([gimsu]*)(?:::regexp?)?$/su.exec(unquote(token)) ?? [];
  return new RegExp(body, flags.replace('g', ''));
};

const granted: Readonly<Record<string, string>> = {
  managejob: 'addjobinputs endjobinput canceljob getjobinput getjoboutput getjobfailures getjoberrors',
  getdirectory: 'listdirectory',
  putlink: 'putsnaplink',
  getprovisioninglimits: 'getaccountlimits',
};

function names(token: string, word: string): boolean {
  if (isExpression(token)) return readExpression(token).test(word);
  if (token.startsWith('"') || !token.includes('*')) return unquote(token) === word;
  return new RegExp(
    `^${token
      .split('*')
      .map((part) => part.replaceAll(/[^\w]/gu, '\\$&'))
      .join('[^]*')}$`,
    'u',
  ).test(word);
}

/** An address as a number, IPv4 in IPv6. */
function readIp(text: string): { value: bigint; bits: number } | undefined {
  const four = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/u.exec(text);
  if (four !== null) return { value: four.slice(1).reduce((sum, byte) => sum * 256n + BigInt(byte), 0n) + (0xffffn << 32n), bits: 32 };
  if (!text.includes(':')) return undefined;
  const [head = '', tail] = text.split('::');
  const groups = (half: string): string[] => (half === '' ? [] : half.split(':'));
  const filled = 8 - groups(head).length - groups(tail ?? '').length;
  const all = tail === undefined ? groups(head) : [...groups(head), ...Array.from({ length: filled }, () => '0'), ...groups(tail)];
  return { value: all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n), bits: 128 };
}

function contains(network: string, address: string): boolean {
  const [base = '', size] = network.split('/');
  const [from, at] = [readIp(base), readIp(address)];
  if (from === undefined || at === undefined) throw new Missing();
  const free = BigInt(size === undefined ? 0 : from.bits - Number(size));
  return from.value >> free === at.value >> free && (from.bits === 128 || at.value >> 32n === 0xffffn);
}

function readMoment(text: string): number {
  const [, year = '', month = '1', day = '1', hour = '0', minute = '0', second = '0'] =
    /^(\d{4})(?:[-/](\d\d)[-/](\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?Z?)?)?$/u.exec(text) ?? [];
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
}

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const dayOf = (moment: number): number => new Date(moment).getUTCDay() || 7;

function readDay(text: string): number {
  if (/^\d$/u.test(text)) return Number(text);
  if (/^\d{4}/u.test(text)) return dayOf(readMoment(text));
  // Of two days that begin alike, one letter is the earlier one.
  return weekdays.findIndex((name) => name.startsWith(text.toLowerCase())) + 1;
}

function readTime(text: string): number {
  if (/^\d{4}/u.test(text)) return (readMoment(text) / 1000) % 86_400;
  const [hour = 0, minute = 0, second = 0] = text.split(':').map(Number);
  return hour * 3600 + minute * 60 + second;
}

const known: Readonly<Record<string, string>> = {
  activeroles: 'array',
  activeRoles: 'array',
  date: 'date',
  day: 'day',
  fromjob: 'boolean',
  method: 'string',
  overwrite: 'boolean',
  owner: 'string',
  sourceip: 'ip',
  time: 'time',
  'user-agent': 'string',
};

function lookUp(name: string, { now, method, sourceip, userAgent, activeRoles, datacenter, conditions = {} }: RuleRequest): unknown {
  if (['requesttime', 'date', 'day', 'time'].includes(name)) return now;
  if (name === 'sourceip' || name === 'ip') return sourceip;
  if (name === 'activeroles' || name === 'activeRoles') return activeRoles;
  const supplied: Readonly<Record<string, unknown>> = { ...conditions, method, datacenter, 'user-agent': userAgent };
  return supplied[name];
}

function order(operator: string, left: number | string, right: number | string): boolean {
  const [less, same] = [left < right, left === right];
  return { '=': same, '!=': !same, '<': less, '>': !less && !same, '<=': less || same, '>=': !less }[operator] ?? false;
}

function compare(type: string, operator: string, value: unknown, text: string, name: string): boolean {
  if (type === 'array') return (value as readonly string[]).includes(text);
  if (type === 'ip') return contains(text, value as string) === (operator !== '!=');
  if (type === 'date') return order(operator, value as number, readMoment(text));
  if (type === 'day') return order(operator, dayOf(value as number), readDay(text));
  if (type === 'time') return order(operator, Math.floor((value as number) / 1000) % 86_400, readTime(text));
  if (type === 'boolean') return order(operator, String(value), text.toLowerCase());
  if (type === 'number') return order(operator, value as number, Number(text));
  const caseless = (word: string): string => (name === 'method' ? word.toLowerCase() : word);
  return order(operator, caseless(String(value)), caseless(text));
}

class Reader {
  readonly #tokens: readonly string[];
  readonly #request: RuleRequest;
  #at = 0;

  constructor(rule: string, request: RuleRequest) {
    this.#tokens = [...rule.matchAll(tokenForm)].map(([, token = '']) => token);
    this.#request = request;
  }

  #next(): string {
    return this.#tokens[this.#at++] ?? '';
  }

  #isNext(...words: string[]): boolean {
    return words.includes((this.#tokens[this.#at] ?? 'END').toUpperCase());
  }

  /** Names of a list up to the word that ends it; undefined for all. */
  #list(): string[] | undefined {
    if (this.#isNext('*', 'ALL', 'EVERYTHING', 'ANYTHING')) {
      this.#at += 1;
      return undefined;
    }
    const items = [this.#next()];
    while (this.#isNext(',', 'AND')) {
      while (this.#isNext(',', 'AND')) this.#at += 1;
      items.push(this.#next());
    }
    return items;
  }

  allows(): boolean {
    const { action, resource } = this.#request;
    const principals = this.#isNext('CAN') ? undefined : this.#list();
    this.#at += 1;
    const isNegative = this.#isNext('NOT');
    if (isNegative) this.#at += 1;
    const actions = this.#list();
    const isEnd = (): boolean => this.#at >= this.#tokens.length;
    const resources = isEnd() || this.#isNext('IF', 'WHEN', 'WHERE') ? undefined : this.#list();
    if (principals !== undefined || isNegative) return false;
    const grants = (token: string): boolean => names(token, action) || granted[unquote(token)]?.split(' ').includes(action) === true;
    if (actions?.some(grants) === false) return false;
    if (resources?.some((token) => [resource].flat().some((each) => names(token, each))) === false) return false;
    if (isEnd()) return true;
    this.#at += 1;
    try {
      return this.#or(true);
    } catch (error) {
      if (error instanceof Missing) return false;
      throw error;
    }
  }

  /** @param isNeeded false where what stands before has decided: it is read and not asked */
  #or(isNeeded: boolean): boolean {
    let result = this.#and(isNeeded);
    while (this.#isNext('OR')) {
      this.#at += 1;
      const next = this.#and(isNeeded && !result);
      result ||= next;
    }
    return result;
  }

  #and(isNeeded: boolean): boolean {
    let result = this.#not(isNeeded);
    while (this.#isNext('AND')) {
      this.#at += 1;
      const next = this.#not(isNeeded && result);
      result &&= next;
    }
    return result;
  }

  #not(isNeeded: boolean): boolean {
    if (this.#isNext('NOT')) {
      this.#at += 1;
      return !this.#not(isNeeded);
    }
    if (!this.#isNext('(')) return this.#comparison(isNeeded);
    this.#at += 1;
    const result = this.#or(isNeeded);
    this.#at += 1;
    return result;
  }

  #comparison(isNeeded: boolean): boolean {
    const [name = '', type = known[name] ?? ''] = this.#next().split('::');
    const operator = this.#next().toUpperCase();
    const texts = operator === 'IN' ? (this.#next(), this.#list() ?? []) : [this.#next()];
    if (operator === 'IN') this.#at += 1;
    if (!isNeeded) return false;
    const value = lookUp(name, this.#request);
    if (value === undefined) throw new Missing();
    if (operator === 'LIKE') {
      const { source, flags } = readExpression(texts[0] ?? '');
      return new RegExp(source, name === 'method' && !flags.includes('i') ? `${flags}i` : flags).test(value as string);
    }
    return texts.some((text) => compare(type, operator === 'IN' ? '=' : operator, value, unquote(text), name));
  }
}

/** Whether a well-formed rule allows a request. */
export function allowsBySecond(rule: string, request: RuleRequest): boolean {
  return new Reader(rule, request).allows();
}
