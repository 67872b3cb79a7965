/** A strict reader of Prometheus's text format (0.0.4), written for these tests alone: whatever the format does not allow throws. */

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  /** Values by the name of the series with its labels as JSON. */
  readonly samples: ReadonlyMap<string, number>;
}

const numberForm = /^(?:[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\+Inf|-Inf|NaN)$/u;

function readNumber(text: string): number {
  if (!numberForm.test(text)) throw new Error(`not a value: ${text}`);
  return Number(text.replace('Inf', 'Infinity'));
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== '') {
    const match = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/u.exec(rest);
    if (match === null) throw new Error(`not labels: ${rest}`);
    const [whole, name = '', value = ''] = match;
    if (Object.hasOwn(labels, name)) throw new Error(`label ${name} twice`);
    labels[name] = value.replaceAll(/\\([\\n"])/gu, (_, character: string) => (character === 'n' ? '\n' : character));
    rest = rest.slice(whole.length);
  }
  return labels;
}

/** The key of a series. */
export function series(name: string, labels: Readonly<Record<string, string>> = {}): string {
  return `${name} ${JSON.stringify(labels)}`;
}

/** Buckets must not fall, and the last one counts everything. */
function checkHistogram({ name, samples }: Family): void {
  const groups = new Map<string, { bound: number; count: number }[]>();
  for (const [key, count] of samples) {
    const [sample = ''] = key.split(' ', 1);
    if (sample !== `${name}_bucket`) continue;
    const { le, ...rest } = JSON.parse(key.slice(sample.length + 1)) as Record<string, string>;
    const group = JSON.stringify(rest);
    groups.set(group, [...(groups.get(group) ?? []), { bound: readNumber(le ?? ''), count }]);
  }
  for (const [group, buckets] of groups) {
    for (const [index, { bound, count }] of buckets.entries()) {
      const before = buckets[index - 1];
      if (before !== undefined && (before.bound >= bound || before.count > count)) throw new Error(`buckets of ${name} ${group} fall`);
    }
    const last = buckets.at(-1);
    if (last?.bound !== Infinity || last.count !== samples.get(`${name}_count ${group}`)) throw new Error(`${name} ${group}: no +Inf`);
    if (!samples.has(`${name}_sum ${group}`)) throw new Error(`${name} ${group}: no sum`);
  }
}

/** Reads a text. @returns its families by their names */
export function readMetrics(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families = new Map<string, Family & { samples: Map<string, number> }>();
  let current: (Family & { samples: Map<string, number> }) | undefined;
  let help: RegExpExecArray | null = null;
  for (const line of text.slice(0, -1).split('\n')) {
    const described = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ((?:[^\\]|\\[\\n])+)$/u.exec(line);
    const typed = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)$/u.exec(line);
    if (described) {
      help = described;
    } else if (typed) {
      const [, name = '', type = ''] = typed;
      if (help?.[1] !== name || families.has(name)) throw new Error(`${name}: one HELP must stand before one TYPE`);
      if (type === 'counter' && !name.endsWith('_total')) throw new Error(`counter ${name} must end in _total`);
      current = { name, type, help: help[2] ?? '', samples: new Map() };
      families.set(name, current);
    } else {
      const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/u.exec(line);
      if (match === null || current === undefined) throw new Error(`not a line: ${line}`);
      const [, name = '', labels = '', value = ''] = match;
      const suffix = name.slice(current.name.length);
      const allowed = current.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
      if (!name.startsWith(current.name) || !allowed.includes(suffix)) throw new Error(`${name} stands below ${current.name}`);
      const key = series(name, readLabels(labels));
      if (current.samples.has(key)) throw new Error(`${key} twice`);
      current.samples.set(key, readNumber(value));
    }
  }
  for (const family of families.values()) if (family.type === 'histogram') checkHistogram(family);
  return families;
}
