import { command } from '../../cli/command.ts';
import { duration, some, texts } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { records, text, type Output } from '../../output/kinds.ts';
import { encodeRemotePath, printRemotePath } from '../../transfer/path.ts';
import { listOption, readingNames, readNames } from './names.ts';
import { requireThere } from './paths.ts';
import { wantsRows } from '../../cli/rows.ts';

const methods = ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'POST'];

/** Default lifetime of a URL, milliseconds. */
const usualLifetime = 3_600_000;

export const sign = command({
  summary: 'Make URLs that work without a key until they expire',
  description:
    'Whoever has such a URL can do what it says. It is for GET unless --method says otherwise. One for PUT stores an object or a part, nothing else. Patterns are expanded for URLs that only read. It has the default roles of the signer, or those of --role.',
  arguments: { path: some('Object or directory', { values: 'path' }) },
  options: {
    expires: duration('How long they work; 1h when absent'),
    method: texts('Method that they allow', { placeholder: 'METHOD' }),
    ...readingNames,
    ...listOption,
  },
  run: async (invocation): Promise<Output> => {
    const { args, options, storage, world } = invocation;
    const wanted = [...new Set(options.method.flatMap((word) => word.toUpperCase().split(',')))];
    const wrong = wanted.find((method) => !methods.includes(method));
    if (wrong !== undefined) throw new UsageError(`--method: "${wrong}" is not a method`, { hint: `there are ${methods.join(', ')}` });
    const lifetime = options.expires ?? usualLifetime;
    if (lifetime < 1000) throw new UsageError('--expires: a URL works for a second at least');
    const allowed = wanted.length === 0 ? ['GET'] : wanted;
    const reads = allowed.every((method) => method === 'GET' || method === 'HEAD');
    const rows = [];
    // URLs that store or delete are made for exactly the given path.
    if (!reads && options.glob) throw new UsageError('--glob is for URLs that only read');
    const { paths } = await readNames(invocation, args.path, { ...options, literal: options.literal || !reads });
    for (const path of paths) {
      // An object that the URL creates need not exist yet.
      if (reads && path.path !== '') await requireThere(storage, path);
      const url = await invocation.presign('storage', { methods: allowed, path: encodeRemotePath(path), lifetime });
      const expires = new Date(Math.floor((world.now() + lifetime) / 1000) * 1000).toISOString();
      rows.push({ path: printRemotePath(path), url, methods: allowed, expires });
    }
    if (!wantsRows(invocation) && invocation.global.columns === undefined) return text(rows.map(({ url }) => url).join('\n'));
    return records(rows, { columns: ['path', 'expires', 'url'], id: 'url', fields: ['methods'] });
  },
  examples: [
    { line: 'curl -sk "$(cloud stor sign report.pdf)" -o report.pdf', help: 'For somebody without a key' },
    { line: 'cloud stor sign inbox/upload.bin --method PUT --expires 1d', help: 'A place to upload to' },
  ],
});
