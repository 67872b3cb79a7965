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
    summary: 'No gateway is ready',
    todo: 'Run cloud server status, then read the logs of the gateways.',
  }),
  ...alert('CloudGatewayDown', {
    expr: 'up{job="cloud"} == 0',
    lasts: '2m',
    severity: 'warning',
    summary: `The gateway ${on} does not respond`,
    todo: 'Check that the process runs and that its admin port can be reached.',
  }),
  ...alert('CloudGatewayNotReady', {
    expr: 'cloud_ready{job="cloud"} == 0',
    lasts: '5m',
    severity: 'warning',
    summary: `The gateway ${on} runs but is not ready`,
    todo: 'GET /--ready of its admin port gives the reason.',
  }),
  ...alert('CloudLeaseOld', {
    expr: 'cloud_lease_age_seconds{job="cloud"} > 15',
    lasts: '30s',
    severity: 'critical',
    summary: `The gateway ${on} cannot reach the database`,
    todo: 'It commits nothing until it can. Check that PostgreSQL runs and can be reached from there.',
  }),
  ...alert('CloudErrors', {
    expr: 'sum(rate(cloud_requests_total{job="cloud",status=~"5.."}[5m])) / sum(rate(cloud_requests_total{job="cloud"}[5m])) > 0.01',
    lasts: '5m',
    severity: 'critical',
    summary: 'More than 1 % of requests fail',
    todo: 'The logs of the gateways have each failure with its reason. 503: the database or the contents are unavailable. 507: a disk is full.',
  }),
  ...alert('CloudSlow', {
    expr: 'histogram_quantile(0.99, sum by (le, service) (rate(cloud_request_duration_seconds_bucket{job="cloud",operation=~"list.+|delete.+|head.+"}[5m]))) > 1',
    lasts: '10m',
    severity: 'warning',
    summary: '1 % of listings and deletions of the service {{ $labels.service }} take more than a second',
    todo: 'Check the load of the database, then that of the gateways.',
  }),
  ...alert('CloudOverloaded', {
    expr: 'cloud_event_loop_delay_seconds{job="cloud",statistic="mean"} > 0.1',
    lasts: '5m',
    severity: 'warning',
    summary: `The gateway ${on} is overloaded: its core is busy`,
    todo: 'Start another gateway and add it to the load balancer.',
  }),
  ...alert('CloudDatabaseWaiting', {
    expr: 'cloud_database_waiting{job="cloud"} > 0',
    lasts: '5m',
    severity: 'warning',
    summary: `Requests ${on} wait for a connection to the database`,
    todo: 'Queries are slow, or a transaction holds a lock: see pg_stat_activity.',
  }),
  ...alert('CloudWriteConflicts', {
    expr: 'sum(rate(cloud_database_write_retries_total{job="cloud"}[15m])) > sum(rate(cloud_database_writes_total{job="cloud"}[15m]))',
    lasts: '15m',
    severity: 'warning',
    summary: 'Transactions are retried more often than they succeed',
    todo: 'Many clients change the same object, role or job concurrently.',
  }),
  ...alert('CloudCertificateEnds', {
    expr: 'cloud_certificate_end_timestamp_seconds{job="cloud"} - time() < 7 * 86400',
    lasts: '1h',
    severity: 'warning',
    summary: `The certificate ${on} expires within a week`,
    todo: 'Replace its files; gateways reload them automatically.',
  }),
  ...alert('CloudRestarts', {
    expr: 'changes(process_start_time_seconds{job="cloud"}[1h]) > 3',
    lasts: '0m',
    severity: 'warning',
    summary: `The gateway ${on} restarts repeatedly`,
    todo: 'journalctl -u cloud-gateway shows why it ended.',
  }),
  ...alert('CloudReleasesDiffer', {
    expr: 'count(count by (version, commit) (cloud_build_info{job="cloud"})) > 1',
    lasts: '6h',
    severity: 'warning',
    summary: 'Gateways of different releases are running',
    todo: 'Finish the update: restart the gateways of the older release.',
  }),
  ...alert('CloudWorkerDown', {
    expr: 'up{job="cloud-worker"} == 0',
    lasts: '2m',
    severity: 'warning',
    summary: `The worker ${on} does not respond`,
    todo: 'Other workers run its tasks. Check that the process runs and that its admin port can be reached.',
  }),
  ...alert('CloudNoWorkers', {
    expr: 'max(cloud_tasks_waiting{job="cloud"}) > 0 and max(cloud_cluster_task_slots{job="cloud"}) == 0',
    lasts: '5m',
    severity: 'critical',
    summary: 'Tasks wait, and no worker runs',
    todo: 'cloud server status shows the workers; journalctl -u cloud-worker shows why they ended.',
  }),
  ...alert('CloudTasksWaiting', {
    expr: 'max(cloud_tasks_waiting_age_seconds{job="cloud"}) > 900',
    lasts: '5m',
    severity: 'warning',
    summary: 'The next task of a job has been waiting for more than 15 minutes',
    todo: 'Start more workers, unless an account has reached its limit of tasks.',
  }),
  ...alert('CloudPoisonInput', {
    expr: 'increase(cloud_tasks_abandoned_total{job="cloud-worker"}[1h]) > 0',
    lasts: '0m',
    severity: 'warning',
    summary: `A task failed ${on} because six workers were lost while they ran it`,
    todo: 'The errors of the job name the input. Find out what ended the workers, for example lack of memory.',
  }),
];
