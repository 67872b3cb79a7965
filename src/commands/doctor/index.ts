import { command } from '../../cli/command.ts';
import { exitCodes, PartialError } from '../../base/errors.ts';
import { countEach, mapEach } from '../../base/iterate.ts';
import type { Paint } from '../../output/colour.ts';
import { escapeControl } from '../../output/escape.ts';
import { bytes, records } from '../../output/kinds.ts';
import { flag } from '../../cli/parameters.ts';
import { examine } from './examine.ts';
import type { Finding } from './finding.ts';
import { paintFor, wantsText } from '../rbac/show.ts';

/** Formats a finding for people: check, status and detail, and below them what to do. */
function printFinding({ check, status, detail, fix }: Finding, paint: Paint): string {
  const marks = { ok: paint.green('ok     '), warning: paint.yellow('warning'), failed: paint.red('failed ') };
  const fixes = fix === undefined ? [] : fix.split('\n').map((line) => `         ${paint.cyan('->')} ${escapeControl(line)}\n`);
  return [`${marks[status]}  ${check.padEnd(9)}${escapeControl(detail)}\n`, ...fixes].join('');
}

export const doctor = command({
  summary: 'Check program, machine, profile, keys, agent, TLS, clock and both services',
  description:
    'Checks everything that a request needs, in this order, and shows how to fix each problem. Changes nothing except with --clear-cache. The exit status is 0 if no check failed. Include the output in bug reports; it contains no password, key or signature.',
  options: { clearCache: flag('Delete the cache first: compiled code, TLS sessions and cached responses') },
  run: async (invocation) => {
    const found = examine(invocation, { clearsCache: invocation.options.clearCache });
    const findings = countEach(
      found,
      ({ status }) => status === 'failed',
      (failed, total) => {
        if (failed > 0) throw new PartialError(`${failed} of ${total} checks failed`, { allFailed: exitCodes.failed });
      },
    );
    if (!wantsText(invocation)) return records(findings, { columns: ['check', 'status', 'detail', 'fix'], id: 'check' });
    const paint = await paintFor(invocation);
    return bytes(mapEach(findings, (finding) => Buffer.from(printFinding(finding, paint))));
  },
  examples: [
    { line: 'cloud doctor', help: 'Find out why a command fails' },
    { line: 'cloud doctor --profile local -j', help: 'Another profile, as JSON' },
    { line: 'cloud doctor --clear-cache', help: 'Check with an empty cache' },
  ],
});
