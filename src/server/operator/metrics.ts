/**
 * Metrics in Prometheus's text format, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/
 * The labels of a series are joined into one map key, so that counting costs one map lookup.
 */

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/** Label values of a series, in the order of the label names, and its value. */
export type Sample = readonly [labels: readonly string[], value: number];

/** A value that only increases. */
export interface Counter {
  add(labels: readonly string[], amount?: number): void;
}

/** A distribution of measured values in buckets. */
export interface Histogram {
  observe(labels: readonly string[], value: number): void;
}

interface Description {
  readonly name: string;
  readonly help: string;
  /** Label names. */
  readonly labels?: readonly string[];
}

/** The metrics of a process. */
export interface Metrics {
  counter(description: Description): Counter;
  /** @param bounds upper bounds of the buckets, ascending */
  histogram(description: Description & { readonly bounds: readonly number[] }): Histogram;
  /** Adds a metric whose values are read when the metrics are written. */
  read(description: Description & { readonly type: 'counter' | 'gauge' }, read: () => Iterable<Sample>): void;
  /**
   * Adds a metric of one series without labels, omitted while its value is undefined. It is a counter if its name ends in `_total`, else a
   * gauge.
   */
  show(name: string, help: string, value: () => number | undefined): void;
  /** All metrics in the text format. */
  write(): string;
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
}

function writeLabels(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return '';
  const pairs = names.map((name, index) => `${name}="${escapeHelp(values[index] ?? '').replaceAll('"', String.raw`\"`)}"`);
  return `{${pairs.join(',')}}`;
}

function writeNumber(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

function writeHead({ name, help }: Description, type: string): string {
  return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
}

function createCounter(description: Description): [Counter, () => string] {
  const { name, labels: names = [] } = description;
  const values = new Map<string, number>();
  const add = (labels: readonly string[], amount = 1): void => {
    const key = writeLabels(names, labels);
    values.set(key, (values.get(key) ?? 0) + amount);
  };
  // A metric without labels has one series, from the start.
  if (names.length === 0) add([], 0);
  const write = (): string =>
    writeHead(description, 'counter') + [...values].map(([key, value]) => `${name}${key} ${writeNumber(value)}\n`).join('');
  return [{ add }, write];
}

interface Series {
  readonly labels: readonly string[];
  readonly counts: number[];
  sum: number;
  count: number;
}

function createHistogram(description: Description & { readonly bounds: readonly number[] }): [Histogram, () => string] {
  const { name, labels: names = [], bounds } = description;
  const all = new Map<string, Series>();
  const observe = (labels: readonly string[], value: number): void => {
    const key = labels.join('\0');
    const series = all.get(key) ?? { labels, counts: bounds.map(() => 0), sum: 0, count: 0 };
    all.set(key, series);
    series.sum += value;
    series.count += 1;
    const index = bounds.findIndex((bound) => value <= bound);
    if (index !== -1) series.counts[index] = (series.counts[index] ?? 0) + 1;
  };
  const writeSeries = ({ labels, counts, sum, count }: Series): string => {
    let total = 0;
    const buckets = counts.map((each, index) => {
      total += each;
      return `${name}_bucket${writeLabels([...names, 'le'], [...labels, writeNumber(bounds[index] ?? Infinity)])} ${total}\n`;
    });
    const own = writeLabels(names, labels);
    const last = `${name}_bucket${writeLabels([...names, 'le'], [...labels, '+Inf'])} ${count}\n`;
    return `${buckets.join('')}${last}${name}_sum${own} ${writeNumber(sum)}\n${name}_count${own} ${count}\n`;
  };
  return [{ observe }, () => writeHead(description, 'histogram') + [...all.values()].map(writeSeries).join('')];
}

export function createMetrics(): Metrics {
  const writers: (() => string)[] = [];
  const add = <M>([metric, write]: [M, () => string]): M => {
    writers.push(write);
    return metric;
  };
  const read: Metrics['read'] = (description, samples) => {
    const { name, labels = [], type } = description;
    const write = ([values, value]: Sample): string => `${name}${writeLabels(labels, values)} ${writeNumber(value)}\n`;
    writers.push(() => writeHead(description, type) + [...samples()].map(write).join(''));
  };
  return {
    read,
    show(name, help, value) {
      read({ name, help, type: name.endsWith('_total') ? 'counter' : 'gauge' }, () => {
        const now = value();
        return now === undefined ? [] : [[[], now]];
      });
    },
    counter: (description) => add(createCounter(description)),
    histogram: (description) => add(createHistogram(description)),
    write: () => writers.map((write) => write()).join(''),
  };
}
