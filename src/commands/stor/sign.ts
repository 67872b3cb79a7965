import { command } from '../../cli/command.ts';
import { duration, some, texts } from '../../cli/parameters.ts';
import { createAttempts } from '../../cli/attempts.ts';
import { UsageError } from '../../base/errors.ts';
import { mapEach } from '../../base/iterate.ts';
import { bytes, records, type Output } from '../../output/kinds.ts';
import { encodeRemotePath, printRemotePath } from '../../transfer/path.ts';
import { listOption, readingNames, readNames } from './names.ts';
import { inspectRoot } from './paths.ts';
import { wantsRows } from '../../cli/rows.ts';

const methods = ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'POST'];

/** Default lifetime of a URL, milliseconds. */
const usualLifetime = 3_600_000;

export const sign = command({
  summary: 'Create signed URLs that need no key and expire',
  description:
    'Anybody who has the URL can use it. The default method is GET. A URL for PUT can store an object or a part, nothing else. Patterns are expanded only for GET and HEAD. The URL has the default roles of the signer, or those of --role.',
  arguments: { path: some('Object or directory', { values: 'path' }) },
  options: {
    expires: duration('Lifetime of the URLs; default 1h'),
    method: texts('Allowed method; default GET', { placeholder: 'METHOD' }),
    ...readingNames,
    ...listOption,
  },
  run: async (invocation): Promise<Output> => {
    const { args, options, storage, world } = invocation;
    const wanted = [...new Set(options.method.flatMap((word) => word.toUpperCase().split(',')))];
    const wrong = wanted.find((method) => !methods.includes(method));
    if (wrong !== undefined) throw new UsageError(`--method: "${wrong}" is not a method`, { hint: `one of ${methods.join(', ')}` });
    const lifetime = options.expires ?? usualLifetime;
    if (lifetime < 1000) throw new UsageError('--expires: a URL must be valid for at least a second');
    const allowed = wanted.length === 0 ? ['GET'] : wanted;
    const reads = allowed.every((method) => method === 'GET' || method === 'HEAD');
    // URLs that store or delete are made for exactly the given path.
    if (!reads && options.glob) throw new UsageError('--glob is only allowed for GET and HEAD');
    const { paths } = await readNames(invocation, args.path, { ...options, literal: options.literal || !reads });
    const rows = createAttempts(invocation, paths.length).rows(paths, async (path) => {
      // An object that the URL creates need not exist yet.
      if (reads) await inspectRoot(storage, path);
      const url = await invocation.presign('storage', { methods: allowed, path: encodeRemotePath(path), lifetime });
      const expires = new Date(Math.floor((world.now() + lifetime) / 1000) * 1000).toISOString();
      return { path: printRemotePath(path), url, methods: allowed, expires };
    });
    if (!wantsRows(invocation) && invocation.global.columns === undefined)
      return bytes(mapEach(rows, ({ url }) => Buffer.from(`${url}\n`)));
    return records(rows, { columns: ['path', 'expires', 'url'], id: 'url', fields: ['methods'] });
  },
  examples: [
    { line: 'curl -sk "$(cloud stor sign report.pdf)" -o report.pdf', help: 'Download without a key' },
    { line: 'cloud stor sign inbox/upload.bin --method PUT --expires 1d', help: 'Let somebody upload an object' },
  ],
});
