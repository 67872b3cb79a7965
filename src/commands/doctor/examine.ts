import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceName } from '../../api/operation.ts';
import type { Context } from '../../cli/command.ts';
import { readSkew } from '../../client/response.ts';
import { readFlag } from '../../config/settings.ts';
import { ApiError, explain, quietly } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { findFolderProblem } from '../../base/private-files.ts';
import { removeFolder } from '../../base/remove-folder.ts';
import { readRunFile } from '../local/running.ts';
import { failed, ok, warning, type Finding } from './finding.ts';
import { checkKeys } from './keys.ts';
import { examineMachine, readCorePattern } from './machine.ts';

/** Seconds that a clock may be off without a warning; the services refuse requests from 300 on. */
const tolerableSkew = 60;

/** Turns an error into a finding. */
function fail(check: string, error: unknown): Finding {
  const { message, hint } = explain(error);
  return failed(check, message, hint);
}

function checkProfile(context: Context): Finding {
  const values = context.settings();
  const sources = [...new Set(Object.values(values).map(({ source }) => source))].filter((source) => source !== 'default');
  if (sources.length === 0) {
    const fix = 'cloud profile create NAME\nto try everything on this machine: cloud local start';
    return failed('profile', 'no profile exists, and the environment has no settings', fix);
  }
  const profile = sources.find((source) => source.startsWith('profile '));
  const others = sources.filter((source) => source !== profile);
  const detail = [profile === undefined ? 'none; settings from' : profile.slice('profile '.length), ...others].join(
    profile === undefined ? ' ' : ', ',
  );
  return ok('profile', `${detail}: account ${values.account?.value ?? '(none)'}${values.user ? `, sub-user ${values.user.value}` : ''}`);
}

/** Each setting with its source. None is a secret: an address that contains a password is refused earlier. */
function describeSettings(context: Context): Finding[] {
  return Object.entries(context.settings())
    .filter(([, { source }]) => source !== 'default')
    .map(([name, { value, source }]) => ok('setting', `${name} = ${value} (${source})`));
}

function describeTls(context: Context): Finding[] {
  const { ca, insecure } = context.settings();
  if (insecure !== undefined && readFlag(insecure)) {
    return [warning('tls', `certificates are not checked (${insecure.source})`, 'give the certificate authority with --ca FILE instead')];
  }
  if (ca === undefined) return [];
  try {
    statSync(ca.value);
    return [ok('tls', `certificate authorities from ${ca.value}`)];
  } catch (error) {
    return [fail('tls', error)];
  }
}

/**
 * True if the error shows that the other of the two services responded: the compute service has no such path, and the object storage does
 * not know the form of compute's signatures.
 */
function isOtherService(error: unknown, check: ServiceName): boolean {
  if (!(error instanceof ApiError)) return false;
  if (check === 'storage') return error.status === 404;
  return error.code === 'AuthorizationSchemeNotAllowed' || (error.status === 400 && error.code !== 'ClockSkew');
}

function explainSwapped({ settings }: Context, check: ServiceName): Finding {
  const { url, storUrl } = settings();
  const [own, other] = check === 'compute' ? [url, storUrl] : [storUrl, url];
  const fix = `if the two URLs are swapped: cloud profile edit --url ${quoteShell(storUrl?.value ?? '')} --stor-url ${quoteShell(url?.value ?? '')}`;
  const detail = `${own?.value ?? ''} is not an address of the ${check} service`;
  return failed(check, detail, other && fix);
}

function checkClock(headers: Readonly<Record<string, string>>, now: () => number): Finding {
  const skew = readSkew({ headers }, now) ?? 0;
  const detail = skew === 0 ? 'in sync with the service' : `${Math.abs(skew)} s ${skew > 0 ? 'ahead of' : 'behind'} the service`;
  if (Math.abs(skew) < tolerableSkew) return ok('clock', detail);
  return warning('clock', detail, 'set the clock of this machine: signatures are rejected from 300 s on');
}

async function* checkCompute(context: Context): AsyncGenerator<Finding> {
  const { settings, world } = context;
  const started = world.now();
  try {
    const { compute } = await import('../../api/compute.ts');
    const { headers, value } = await context.compute.answer(compute.ping, {});
    const versions = value.cloudapi?.versions?.join(', ') ?? 'unknown';
    yield ok('compute', `${settings().url?.value ?? ''} responds in ${world.now() - started} ms; API versions ${versions}`);
    yield checkClock(headers, world.now);
  } catch (error) {
    yield isOtherService(error, 'compute') ? explainSwapped(context, 'compute') : fail('compute', await context.refine(error));
    return;
  }
  try {
    const { login, email } = await context.compute.getAccount({ account: context.account });
    yield ok('account', `${login}${email === '' ? '' : `, ${email}`}`);
  } catch (error) {
    yield fail('account', await context.refine(error));
  }
}

async function checkStorage(context: Context): Promise<Finding> {
  const { settings, world, account } = context;
  const address = settings().storUrl?.value;
  if (address === undefined) return warning('storage', 'no address is set', 'cloud profile edit --stor-url URL');
  const started = world.now();
  try {
    const { storage } = await import('../../api/storage.ts');
    // The response to a HEAD request would not say why it is refused.
    await context.storage.answer(storage.listDirectory, { account, path: 'stor', limit: 1 });
    return ok('storage', `${address} responds in ${world.now() - started} ms`);
  } catch (error) {
    return isOtherService(error, 'storage') ? explainSwapped(context, 'storage') : fail('storage', await context.refine(error));
  }
}

const memoryLimits: Readonly<Record<string, string>> = {
  'cgroup v1': 'by a control group (v1)',
  'cgroup v2': 'by a control group (v2)',
  sampling: 'by RLIMIT_DATA for each process, and by the total, checked every 50 ms',
};

/** How the local service that the settings name isolates tasks of jobs from the rest of this machine. */
function* checkJobs({ settings, paths }: Context): Generator<Finding> {
  const running = readRunFile(join(paths.data, 'local'));
  if (running === undefined || running.storUrl !== settings().storUrl?.value) return;
  const { isolation, jobsOff, memoryLimit = '' } = running;
  if (jobsOff !== undefined) {
    yield warning('jobs', jobsOff);
    return;
  }
  const limits = `memory is limited ${memoryLimits[memoryLimit] ?? 'by nothing'}, disk by RLIMIT_FSIZE and by the total written, checked every 200 ms`;
  yield isolation === 'none'
    ? warning('jobs', `tasks run without a sandbox; ${limits}`, 'start the service without --isolation none')
    : ok('jobs', `tasks run in a sandbox (${isolation}); ${limits}`);
  const pattern = readCorePattern() ?? '';
  const detail = `this machine sends core files elsewhere (kernel.core_pattern is "${pattern}"), so that jobs store none`;
  if (/^[|/]/u.test(pattern)) yield warning('cores', detail, 'sysctl kernel.core_pattern=core');
}

/** The services that settings name. */
function listServices(context: Context): ServiceName[] {
  return context.settings().storUrl === undefined ? ['compute'] : ['compute', 'storage'];
}

/** Checks the folders of the cache. A folder that other users could have filled is neither used nor cleared. */
async function checkCache({ paths }: Context, clears: boolean): Promise<Finding> {
  const { cache } = paths;
  const problem =
    findFolderProblem([cache]) ??
    quietly<string[]>(() => readdirSync(cache), [])
      .map((name) => findFolderProblem([`${cache}/${name}`]))
      .find(Boolean);
  if (problem !== undefined) return warning('cache', `not used: ${problem}`, 'use a folder of your own: export XDG_CACHE_HOME=DIR');
  if (!clears) return ok('cache', cache);
  await removeFolder(cache);
  return ok('cache', `${cache}: cleared`);
}

/** Checks everything that a request needs, in the order in which a request needs it. */
export async function* examine(context: Context, { clearsCache }: { clearsCache: boolean }): AsyncGenerator<Finding> {
  yield* examineMachine(context);
  try {
    yield await checkCache(context, clearsCache);
  } catch (error) {
    yield fail('cache', error);
  }
  try {
    yield checkProfile(context);
  } catch (error) {
    yield fail('profile', error);
    return;
  }
  yield* describeSettings(context);
  if (context.settings().url === undefined && context.settings().storUrl === undefined) return;
  yield* checkKeys(context, listServices(context));
  yield* describeTls(context);
  if (context.settings().url !== undefined) yield* checkCompute(context);
  yield await checkStorage(context);
  yield* checkJobs(context);
}
