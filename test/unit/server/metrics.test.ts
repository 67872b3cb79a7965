import { describe, expect, test } from 'vitest';
import { createMetrics } from '../../../src/server/operator/metrics.ts';
import { readMetrics, series } from '../../support/prometheus.ts';

describe('the text of metrics', () => {
  test('counters, gauges and histograms, with values of labels that would end a line or a text', () => {
    const metrics = createMetrics();
    const strange = 'a "b" \\ c\nd{e="f"} 1';
    const counter = metrics.counter({ name: 'x_total', help: 'Two\nlines \\ and more.', labels: ['who', 'what'] });
    counter.add([strange, '1']);
    counter.add([strange, '1'], 2.5);
    counter.add(['', '2']);
    metrics.counter({ name: 'none_total', help: 'Never counted.' });
    metrics.read({ name: 'free', help: 'Read.', labels: ['of'], type: 'gauge' }, () => [
      [['a'], Infinity],
      [['b'], -1e-9],
      [['c'], NaN],
    ]);
    metrics.read({ name: 'absent', help: 'Nothing to read.', type: 'gauge' }, () => []);
    const families = readMetrics(metrics.write());
    expect([...families.keys()]).toEqual(['x_total', 'none_total', 'free', 'absent']);
    expect(families.get('x_total')).toEqual({
      name: 'x_total',
      type: 'counter',
      help: String.raw`Two\nlines \\ and more.`,
      samples: new Map([
        [series('x_total', { who: strange, what: '1' }), 3.5],
        [series('x_total', { who: '', what: '2' }), 1],
      ]),
    });
    expect(families.get('none_total')?.samples).toEqual(new Map([[series('none_total'), 0]]));
    expect([...(families.get('free')?.samples.values() ?? [])]).toEqual([Infinity, -1e-9, NaN]);
  });

  test('a measurement is in the bucket of the first bound that is not below it', () => {
    const metrics = createMetrics();
    const histogram = metrics.histogram({ name: 'took', help: 'Time.', labels: ['of'], bounds: [0.1, 1] });
    for (const value of [0.05, 0.1, 0.5, 7]) histogram.observe(['x'], value);
    histogram.observe(['y'], 1);
    const samples = readMetrics(metrics.write()).get('took')?.samples;
    const read = (name: string, labels: Record<string, string>): number | undefined => samples?.get(series(`took_${name}`, labels));
    expect(['0.1', '1', '+Inf'].map((le) => read('bucket', { of: 'x', le }))).toEqual([2, 3, 4]);
    expect([read('count', { of: 'x' }), read('sum', { of: 'x' })]).toEqual([4, 0.05 + 0.1 + 0.5 + 7]);
    expect([read('bucket', { of: 'y', le: '0.1' }), read('bucket', { of: 'y', le: '1' })]).toEqual([0, 1]);
  });
});
