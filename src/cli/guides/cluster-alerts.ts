/** Prometheus configuration in the guide to clusters. Tests check both files with promtool, and trigger each alert. */

/** Part of `/etc/prometheus/prometheus.yml`. */
export const scrapeConfiguration = [
  'rule_files: [/etc/prometheus/cloud-alerts.yml]',
  'scrape_configs:',
  '  - job_name: cloud',
  '    metrics_path: /--metrics',
  '    scrape_interval: 15s',
  '    static_configs:',
  "      - targets: ['10.0.0.11:7445', '10.0.0.12:7445']",
  '  - job_name: cloud-worker',
  '    metrics_path: /--metrics',
  '    scrape_interval: 15s',
  '    static_configs:',
  "      - targets: ['10.0.0.21:7445', '10.0.0.22:7445']",
];

/** The lines of one alert: the problem, the time before it fires, and what to do. */
function alert(
  name: string,
  {
    expr,
    lasts,
    severity,
    summary,
    todo,
  }: { expr: string; lasts: string; severity: 'critical' | 'warning'; summary: string; todo: string },
): string[] {
  return [
    `      - alert: ${name}`,
    `        expr: ${expr}`,
    `        for: ${lasts}`,
    `        labels: { severity: ${severity} }`,
    '        annotations:',
    `          summary: '${summary}'`,
    `          description: '${todo}'`,
  ];
}

const on = 'on {{ $labels.instance }}';

/** `/etc/prometheus/cloud-alerts.yml` */
export const alertRules = [
  'groups:',
  '  - name: cloud',
  '    rules:',
  ...alert('CloudDown', {
    expr: '(sum(cloud_ready{job="cloud"}) or vector(0)) == 0',
    lasts: '1m',
    severity: 'critical',
    summary: 'No gateway serves',
    todo: 'cloud server status, then the log of the gateways.',
  }),
  ...alert('CloudGatewayDown', {
    expr: 'up{job="cloud"} == 0',
    lasts: '2m',
    severity: 'warning',
    summary: `The gateway ${on} does not answer`,
    todo: 'Does the process run, and can its admin port be reached?',
  }),
  ...alert('CloudGatewayNotReady', {
    expr: 'cloud_ready{job="cloud"} == 0',
    lasts: '5m',
    severity: 'warning',
    summary: `The gateway ${on} runs and does not serve`,
    todo: 'GET /--ready of its admin port says why.',
  }),
  ...alert('CloudLeaseOld', {
    expr: 'cloud_lease_age_seconds{job="cloud"} > 15',
    lasts: '30s',
    severity: 'critical',
    summary: `The gateway ${on} does not reach the database`,
    todo: 'It commits nothing until it does. Is PostgreSQL up, and reachable from there?',
  }),
  ...alert('CloudErrors', {
    expr: 'sum(rate(cloud_requests_total{job="cloud",status=~"5.."}[5m])) / sum(rate(cloud_requests_total{job="cloud"}[5m])) > 0.01',
    lasts: '5m',
    severity: 'critical',
    summary: 'More than one request in a hundred fails',
    todo: 'The log of the gateways has each with its reason. 503: the database or the contents are away. 507: a disk is full.',
  }),
  ...alert('CloudSlow', {
    expr: 'histogram_quantile(0.99, sum by (le, service) (rate(cloud_request_duration_seconds_bucket{job="cloud",operation=~"list.+|delete.+|head.+"}[5m]))) > 1',
    lasts: '10m',
    severity: 'warning',
    summary: 'One listing or deletion in a hundred of the service {{ $labels.service }} takes more than a second',
    todo: 'Look at the load of the database, then at that of the gateways.',
  }),
  ...alert('CloudOverloaded', {
    expr: 'cloud_event_loop_delay_seconds{job="cloud",statistic="mean"} > 0.1',
    lasts: '5m',
    severity: 'warning',
    summary: `The gateway ${on} has more to do than its core can`,
    todo: 'Start another one, and name it to the balancer.',
  }),
  ...alert('CloudDatabaseWaiting', {
    expr: 'cloud_database_waiting{job="cloud"} > 0',
    lasts: '5m',
    severity: 'warning',
    summary: `Requests ${on} wait for a connection to the database`,
    todo: 'Queries are slow, or a transaction holds a lock: pg_stat_activity.',
  }),
  ...alert('CloudWriteConflicts', {
    expr: 'sum(rate(cloud_database_write_retries_total{job="cloud"}[15m])) > sum(rate(cloud_database_writes_total{job="cloud"}[15m]))',
    lasts: '15m',
    severity: 'warning',
    summary: 'Transactions are run again more often than they succeed',
    todo: 'Many clients change the same object, role or job at once.',
  }),
  ...alert('CloudCertificateEnds', {
    expr: 'cloud_certificate_end_timestamp_seconds{job="cloud"} - time() < 7 * 86400',
    lasts: '1h',
    severity: 'warning',
    summary: `The certificate ${on} ends within a week`,
    todo: 'Replace its files; gateways read them again by themselves.',
  }),
  ...alert('CloudRestarts', {
    expr: 'changes(process_start_time_seconds{job="cloud"}[1h]) > 3',
    lasts: '0m',
    severity: 'warning',
    summary: `The gateway ${on} was started again and again`,
    todo: 'journalctl -u cloud-gateway has why it ended.',
  }),
  ...alert('CloudReleasesDiffer', {
    expr: 'count(count by (version, commit) (cloud_build_info{job="cloud"})) > 1',
    lasts: '6h',
    severity: 'warning',
    summary: 'Gateways of more than one release serve',
    todo: 'End the update that was begun: restart the older ones.',
  }),
  ...alert('CloudWorkerDown', {
    expr: 'up{job="cloud-worker"} == 0',
    lasts: '2m',
    severity: 'warning',
    summary: `The worker ${on} does not answer`,
    todo: 'Others do its tasks. Does the process run, and can its admin port be reached?',
  }),
  ...alert('CloudNoWorkers', {
    expr: 'max(cloud_tasks_waiting{job="cloud"}) > 0 and max(cloud_cluster_task_slots{job="cloud"}) == 0',
    lasts: '5m',
    severity: 'critical',
    summary: 'Tasks wait, and nobody does them',
    todo: 'cloud server status shows the workers; journalctl -u cloud-worker has why they ended.',
  }),
  ...alert('CloudTasksWaiting', {
    expr: 'max(cloud_tasks_waiting_age_seconds{job="cloud"}) > 900',
    lasts: '5m',
    severity: 'warning',
    summary: 'The next task of a job has been waiting for more than 15 minutes',
    todo: 'Start more workers. Or an account has reached its limit of tasks.',
  }),
  ...alert('CloudPoisonInput', {
    expr: 'increase(cloud_tasks_abandoned_total{job="cloud-worker"}[1h]) > 0',
    lasts: '0m',
    severity: 'warning',
    summary: `A task failed ${on}, because six workers were lost in the middle of it`,
    todo: 'The errors of the job name its input. What ended the workers: memory?',
  }),
];
