import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { alertRules, scrapeConfiguration } from '../../src/cli/guides/cluster-alerts.ts';
import { awaitResponse, beginRequest, openGatewayHome, readText, type GatewayHome } from '../support/gateway-process.ts';
import { readMetrics } from '../support/prometheus.ts';
import { findPromtool, runPromtool } from '../support/promtool.ts';
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts';

/** The alerts of `cloud help cluster`: what Prometheus reads, that each fires when it should and not before, on series that gateways have. */

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<string, string>>;
}

const { groups } = parse(alertRules.join('\n')) as { groups: [{ rules: Rule[] }] };
const [{ rules }] = groups;

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloud-alerts-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What makes an alert fire: series with a value for each minute, how long that takes, and the labels of what fires. */
interface Case {
  readonly series: Readonly<Record<string, string>>;
  /** Until then it does not fire, and at the second time it does. */
  readonly quiet: string;
  readonly fires: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The same series with these values never fire. */
  readonly well: Readonly<Record<string, string>>;
}

const instance = { instance: 'a:7445' };
const of = (name: string, labels = ''): string => `${name}{job="cloud",instance="a:7445"${labels}}`;
const ofWorker = (name: string): string => `${name}{job="cloud-worker",instance="a:7445"}`;
const ofA = { labels: { ...instance, job: 'cloud' } };

const cases: Readonly<Record<string, Case>> = {
  CloudDown: {
    series: { [of('cloud_ready')]: '1x4 0x20' },
    quiet: '5m',
    fires: '8m',
    well: { [of('cloud_ready')]: '0x1 1x30', 'cloud_ready{job="cloud",instance="b:7445"}': '0x30' },
  },
  CloudGatewayDown: { series: { [of('up')]: '0x20' }, quiet: '1m', fires: '3m', ...ofA, well: { [of('up')]: '1x30' } },
  CloudGatewayNotReady: {
    series: { [of('cloud_ready')]: '0x20' },
    quiet: '4m',
    fires: '6m',
    ...ofA,
    well: { [of('cloud_ready')]: '1x30' },
  },
  CloudLeaseOld: {
    series: { [of('cloud_lease_age_seconds')]: '5 20x20' },
    quiet: '1m',
    fires: '3m',
    ...ofA,
    well: { [of('cloud_lease_age_seconds')]: '14x30' },
  },
  CloudErrors: {
    series: { [of('cloud_requests_total', ',status="200"')]: '0+980x40', [of('cloud_requests_total', ',status="503"')]: '0+20x40' },
    quiet: '4m',
    fires: '12m',
    well: { [of('cloud_requests_total', ',status="404"')]: '0+500x40', [of('cloud_requests_total', ',status="500"')]: '0+4x40' },
  },
  CloudSlow: {
    series: {
      [of('cloud_request_duration_seconds_bucket', ',service="storage",operation="listdirectory",le="1"')]: '0+90x40',
      [of('cloud_request_duration_seconds_bucket', ',service="storage",operation="listdirectory",le="2.5"')]: '0+100x40',
      [of('cloud_request_duration_seconds_bucket', ',service="storage",operation="listdirectory",le="+Inf"')]: '0+100x40',
    },
    quiet: '9m',
    fires: '17m',
    labels: { service: 'storage' },
    well: {
      // Uploads and downloads may take long.
      [of('cloud_request_duration_seconds_bucket', ',service="storage",operation="getobject",le="1"')]: '0+10x40',
      [of('cloud_request_duration_seconds_bucket', ',service="storage",operation="getobject",le="+Inf"')]: '0+100x40',
    },
  },
  CloudOverloaded: {
    series: { [of('cloud_event_loop_delay_seconds', ',statistic="mean"')]: '0.2x20' },
    quiet: '4m',
    fires: '6m',
    labels: { ...ofA.labels, statistic: 'mean' },
    well: {
      [of('cloud_event_loop_delay_seconds', ',statistic="mean"')]: '0.05x20',
      [of('cloud_event_loop_delay_seconds', ',statistic="max"')]: '3x20',
    },
  },
  CloudDatabaseWaiting: {
    series: { [of('cloud_database_waiting')]: '3x20' },
    quiet: '4m',
    fires: '6m',
    ...ofA,
    well: { [of('cloud_database_waiting')]: '0 4 0 9 0x20' },
  },
  CloudWriteConflicts: {
    series: { [of('cloud_database_write_retries_total')]: '0+20x60', [of('cloud_database_writes_total')]: '0+10x60' },
    quiet: '14m',
    fires: '32m',
    well: { [of('cloud_database_write_retries_total')]: '0+9x60', [of('cloud_database_writes_total')]: '0+10x60' },
  },
  CloudCertificateEnds: {
    series: { [of('cloud_certificate_end_timestamp_seconds')]: '500000x100' },
    quiet: '50m',
    fires: '62m',
    ...ofA,
    well: { [of('cloud_certificate_end_timestamp_seconds')]: '700000x100' },
  },
  CloudRestarts: {
    series: { [of('process_start_time_seconds')]: '1 2 3 4 5 5x60' },
    quiet: '3m',
    fires: '5m',
    ...ofA,
    well: { [of('process_start_time_seconds')]: '1 2 2 3 3x60' },
  },
  CloudReleasesDiffer: {
    series: {
      [of('cloud_build_info', ',version="1",commit="a"')]: '1x400',
      'cloud_build_info{job="cloud",instance="b:7445",version="2",commit="b"}': '1x400',
    },
    quiet: '5h',
    fires: '6h5m',
    well: {
      [of('cloud_build_info', ',version="1",commit="a"')]: '1x400',
      'cloud_build_info{job="cloud",instance="b:7445",version="1",commit="a"}': '1x400',
    },
  },
  CloudWorkerDown: {
    series: { [ofWorker('up')]: '0x20' },
    quiet: '1m',
    fires: '3m',
    labels: { ...instance, job: 'cloud-worker' },
    well: { [ofWorker('up')]: '1x30' },
  },
  CloudNoWorkers: {
    series: { [of('cloud_tasks_waiting')]: '0 7x20', [of('cloud_cluster_task_slots')]: '0x20' },
    quiet: '5m',
    fires: '7m',
    well: { [of('cloud_tasks_waiting')]: '7x20', [of('cloud_cluster_task_slots')]: '0x2 2x20' },
  },
  CloudTasksWaiting: {
    series: { [of('cloud_tasks_waiting_age_seconds')]: '0+60x40' },
    quiet: '20m',
    fires: '22m',
    well: { [of('cloud_tasks_waiting_age_seconds')]: '0+60x14 0+60x14 0+60x14' },
  },
  CloudPoisonInput: {
    series: { [ofWorker('cloud_tasks_abandoned_total')]: '0x5 1x40' },
    quiet: '5m',
    fires: '8m',
    labels: { ...instance, job: 'cloud-worker' },
    well: { [ofWorker('cloud_tasks_abandoned_total')]: '3x40' },
  },
};

const listSeries = (series: Case['series']): object[] => Object.entries(series).map(([name, values]) => ({ series: name, values }));

/** One alert as `promtool test rules` takes it. */
function writeTests({ alert, labels: { severity }, annotations }: Rule, { series, quiet, fires, labels = {}, well }: Case): object[] {
  const fill = (text: string): string =>
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/gu, (_, label: string) => (labels as Record<string, string>)[label] ?? '');
  const expected = {
    exp_labels: { severity, ...labels },
    exp_annotations: Object.fromEntries(Object.entries(annotations).map(([name, text]) => [name, fill(text)])),
  };
  const at = (time: string, alerts: object[]): object => ({ eval_time: time, alertname: alert, exp_alerts: alerts });
  return [
    { interval: '1m', input_series: listSeries(series), alert_rule_test: [at(quiet, []), at(fires, [expected])] },
    { interval: '1m', input_series: listSeries(well), alert_rule_test: [at(fires, [])] },
  ];
}

test('each alert has a case, a word for what is wrong and one for what to do', () => {
  expect(rules.map(({ alert }) => alert)).toEqual(Object.keys(cases));
  expect(rules.filter(({ annotations }) => !annotations['summary'] || !annotations['description'])).toEqual([]);
});

// Without promtool (Debian: prometheus) these are left out.
describe.skipIf(findPromtool() === undefined)('by promtool', () => {
  beforeAll(() => writeFileSync(join(folder, 'cloud-alerts.yml'), `${alertRules.join('\n')}\n`));

  test('both files are read', () => {
    expect(runPromtool(['check', 'rules', join(folder, 'cloud-alerts.yml')])).toContain(`SUCCESS: ${rules.length} rules found`);
    const file = join(folder, 'prometheus.yml');
    writeFileSync(file, scrapeConfiguration.join('\n').replace('/etc/prometheus/', `${folder}/`));
    expect(runPromtool(['check', 'config', file])).toContain('is valid prometheus config file syntax');
  });

  test.each(rules.map((rule) => [rule.alert, rule] as const))('%s fires when it should, and not otherwise', (name, rule) => {
    const own = cases[name];
    if (own === undefined) throw new Error(`no case for ${name}`);
    const file = join(folder, `${name}.yml`);
    writeFileSync(file, JSON.stringify({ rule_files: [join(folder, 'cloud-alerts.yml')], tests: writeTests(rule, own) }));
    expect(runPromtool(['test', 'rules', file])).toContain('SUCCESS');
  });
});

describe('metrics of a gateway and a worker', () => {
  let home: GatewayHome;
  let adminUrl = '';
  let worker: WorkerProcess | undefined;
  beforeAll(async () => {
    home = await openGatewayHome();
    const { told } = await home.start('--http', '--admin-port', '0');
    adminUrl = told.adminUrl ?? '';
    await readText(await awaitResponse(beginRequest(home, told, 'GET', '/alice/stor').end()));
  });
  beforeAll(async () => {
    worker = await startWorkerProcess(home, '--admin-port', '0');
  }, 120_000);
  afterAll(async () => {
    worker?.child.kill('SIGKILL');
    await home.remove();
  });

  /** What it tells once it has counted the request. */
  const readWhole = async (): Promise<string> => {
    const read = async (): Promise<string> => (await fetch(`${adminUrl}/--metrics`)).text();
    await expect.poll(read, { timeout: 120_000 }).toContain('operation="listdirectory"');
    return read();
  };

  test('has every series, with every label, that an alert asks for', { timeout: 240_000 }, async () => {
    const own = await readWhole();
    const read = async (): Promise<string> => (await fetch(`${adminUrl}/--metrics`)).text();
    await expect.poll(read, { timeout: 120_000 }).toMatch(/^cloud_cluster_task_slots \d/mu);
    const metrics = own + (await (await fetch(`${worker?.told.adminUrl ?? ''}/--metrics`)).text());
    const known = [own, metrics.slice(own.length)]
      .flatMap((text) => [...readMetrics(text).values()])
      .flatMap(({ name, type }) => (type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name]));
    const asked = rules.flatMap(({ expr }) => [...expr.matchAll(/\b(?:cloud|process)_[a-z_]+/gu)].map(([name]) => name));
    expect(asked.filter((name) => !known.includes(name))).toEqual([]);
    const labels = rules.flatMap(({ expr }) => [...expr.matchAll(/\{([^{}]*)\}/gu)].flatMap(([, all = '']) => all.split(/=~?"[^"]*",?/u)));
    const here = new Set(['', 'job', ...[...metrics.matchAll(/[{,]([a-z_]+)="/gu)].map(([, name = '']) => name)]);
    expect(labels.filter((name) => !here.has(name))).toEqual([]);
  });

  test.skipIf(findPromtool() === undefined)('is what Prometheus takes, and follows its rules for names', async () => {
    expect(runPromtool(['check', 'metrics'], await readWhole())).toBe('');
  });
});
