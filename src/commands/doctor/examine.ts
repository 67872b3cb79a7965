import { statSync } from 'node:fs';
import type { ServiceName } from '../../api/operation.ts';
import type { Context } from '../../cli/command.ts';
import { readSkew } from '../../client/reply.ts';
import { explain } from '../../errors.ts';
import { checkKeys } from './keys.ts';

/** What was found at one of the things that a request needs. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  /** What to do; a line for each of several ways. */
  readonly fix?: string;
}

/** Seconds that a clock may be off before somebody should be told; 300 are refused. */
const tolerableSkew = 60;

function ok(check: string, detail: string): Finding {
  return { check, status: 'ok', detail };
}

/** What an error says, as a finding. */
function fail(check: string, error: unknown): Finding {
  const { message, hint } = explain(error);
  return { check, status: 'failed', detail: message, ...(hint !== undefined && { fix: hint }) };
}

function checkProfile(context: Context): Finding {
  const values = context.settings();
  const sources = [...new Set(Object.values(values).map(({ source }) => source))].filter((source) => source !== 'default');
  if (sources.length === 0) {
    return {
      check: 'profile',
      status: 'failed',
      detail: 'there is none, and no setting in the environment',
      fix: 'cloud profile create NAME\nto try everything on this machine: cloud local start',
    };
  }
  const profile = sources.find((source) => source.startsWith('profile '));
  const others = sources.filter((source) => source !== profile);
  const detail = [profile === undefined ? 'none; settings from' : profile.slice('profile '.length), ...others].join(
    profile === undefined ? ' ' : ', ',
  );
  return ok('profile', `${detail}: account ${values.account?.value ?? '(none)'}${values.user ? `, sub-user ${values.user.value}` : ''}`);
}

function describeTls(context: Context): Finding[] {
  const { ca, insecure } = context.settings();
  if (insecure !== undefined && insecure.value === 'true') {
    return [
      {
        check: 'tls',
        status: 'warning',
        detail: `certificates are not checked (${insecure.source})`,
        fix: 'give the authority with --ca FILE instead',
      },
    ];
  }
  if (ca === undefined) return [];
  try {
    statSync(ca.value);
    return [ok('tls', `authorities of ${ca.value}`)];
  } catch (error) {
    return [fail('tls', error)];
  }
}

function checkClock(headers: Readonly<Record<string, string>>, now: () => number): Finding {
  const skew = readSkew({ headers }, now) ?? 0;
  const detail = skew === 0 ? 'as the service has it' : `${Math.abs(skew)} s ${skew > 0 ? 'ahead of' : 'behind'} the service`;
  if (Math.abs(skew) < tolerableSkew) return ok('clock', detail);
  return { check: 'clock', status: 'warning', detail, fix: 'set the clock of this machine: signatures are refused from 300 s on' };
}

async function* checkCompute(context: Context): AsyncGenerator<Finding> {
  const { settings, world } = context;
  const started = world.now();
  try {
    const { compute } = await import('../../api/compute.ts');
    const { headers, value } = await context.compute.answer(compute.ping, {});
    const versions = value.cloudapi?.versions?.join(', ') ?? 'unknown';
    yield ok('compute', `${settings().url?.value ?? ''} answers in ${world.now() - started} ms; API versions ${versions}`);
    yield checkClock(headers, world.now);
  } catch (error) {
    yield fail('compute', error);
    return;
  }
  try {
    const { login, email } = await context.compute.getAccount({ account: context.account });
    yield ok('account', `${login}${email === '' ? '' : `, ${email}`}`);
  } catch (error) {
    yield fail('account', error);
  }
}

async function checkStorage(context: Context): Promise<Finding> {
  const { settings, world, account } = context;
  const address = settings().storUrl?.value;
  if (address === undefined) {
    return { check: 'storage', status: 'warning', detail: 'no address is known', fix: 'cloud profile edit --stor-url URL' };
  }
  const started = world.now();
  try {
    const { storage } = await import('../../api/storage.ts');
    await context.storage.answer(storage.listDirectory, { account, path: 'stor', limit: 1 }, { head: true });
    return ok('storage', `${address} answers in ${world.now() - started} ms`);
  } catch (error) {
    return fail('storage', error);
  }
}

/** The services that settings name. */
function listServices(context: Context): ServiceName[] {
  return context.settings().storUrl === undefined ? ['compute'] : ['compute', 'storage'];
}

/** Looks at everything that a request needs, in the order in which it needs it. */
export async function* examine(context: Context): AsyncGenerator<Finding> {
  yield ok('program', `version ${process.env['CLOUD_VERSION'] ?? '0.0.0'} with ${context.world.executable}`);
  try {
    yield checkProfile(context);
  } catch (error) {
    yield fail('profile', error);
    return;
  }
  if (context.settings().url === undefined && context.settings().storUrl === undefined) return;
  yield* checkKeys(context, listServices(context));
  yield* describeTls(context);
  if (context.settings().url !== undefined) yield* checkCompute(context);
  yield await checkStorage(context);
}
