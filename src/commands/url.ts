import { compute } from '../api/compute.ts';
import type { Operation } from '../api/operation.ts';
import { storage } from '../api/storage.ts';
import { command, group, type InspectedUrl } from '../cli/command.ts';
import { redactPairs } from '../base/redact.ts';
import { readInput } from '../cli/input.ts';
import { choice, filePath, one, text } from '../cli/parameters.ts';
import { ApiError, LocalError } from '../base/errors.ts';
import { record, type Column } from '../output/kinds.ts';
import { formatDuration } from '../output/units.ts';

/** What one method of a URL grants, as the service would match the request. */
interface Grant {
  method: string;
  /** Names of possible operations; the resource at the path decides which one applies. */
  operations: string[];
  summary: string;
  /** Why the service rejects the request although it is signed. */
  refusal?: string;
}

function describeGrant(method: string, operations: readonly Operation[]): Grant {
  const names = operations.map(({ name }) => name.charAt(0).toUpperCase() + name.slice(1));
  return { method, operations: names, summary: operations.map(({ summary }) => summary).join('; or: ') };
}

/** The operations that a URL matches, with those that a service rejects for signed URLs. */
async function listGrants({ service, path, prefix, query, methods }: InspectedUrl): Promise<Grant[]> {
  const [{ createMatcher }, { parseTarget }, { assertUrlCovers }] = await Promise.all([
    import('../server/http/match.ts'),
    import('../server/http/target.ts'),
    import('../server/access/presigned.ts'),
  ]);
  const match = createMatcher(service === 'compute' ? compute : storage);
  const own = path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
  return methods.map((method) => {
    let grant: Grant = { method, operations: [], summary: '' };
    try {
      const target = {
        ...parseTarget(service, own),
        query: new URLSearchParams(query.map(([name, value]): [string, string] => [name, value])),
      };
      const operations = match(method, target, {}).candidates.map(({ operation }) => operation);
      grant = describeGrant(method, operations);
      for (const operation of operations) assertUrlCovers(operation, {});
      return grant;
    } catch (error) {
      if (error instanceof ApiError) return { ...grant, refusal: error.message };
      throw error;
    }
  });
}

function describeSigner({ keyId }: InspectedUrl): string | undefined {
  return keyId && [keyId.account, ...(keyId.user === undefined ? [] : [keyId.user])].join('/');
}

function describeSignature({ result, key, difference, keyId }: InspectedUrl): string {
  if (result === 'fits') return `matches the key ${key?.publicKey.fingerprints.md5 ?? ''} (${key?.source ?? ''})`;
  if (result === 'unknown')
    return keyId === undefined ? 'unknown: the URL is incomplete' : `unknown: the key ${keyId.key} is not on this machine`;
  if (difference === undefined) return 'does not match these lines';
  const { line, signed, url } = difference;
  return `matches another text: line ${line} was signed as ${JSON.stringify(redactPairs(signed))}, not as ${JSON.stringify(redactPairs(url))}`;
}

/** Describes the first line that differs between the text that a program signed and the text that a service verifies. */
function compareText(lines: readonly string[], signed: string): string | undefined {
  const theirs = signed.replace(/\r?\n$/, '').split('\n');
  const at = Array.from({ length: Math.max(lines.length, theirs.length) }, (_, index) => index).find(
    (index) => lines[index] !== theirs[index],
  );
  if (at === undefined) return undefined;
  const write = (line: string | undefined): string => (line === undefined ? 'absent' : JSON.stringify(redactPairs(line)));
  return `line ${at + 1} of the text is ${write(theirs[at])}; the service verifies ${write(lines[at])}`;
}

function judge({ result, problems }: InspectedUrl, grants: readonly Grant[]): 'valid' | 'refused' | 'unknown' {
  const isRefused = grants.length > 0 && grants.every(({ refusal }) => refusal !== undefined);
  if (result === 'differs' || problems.length > 0 || isRefused) return 'refused';
  return result === 'fits' ? 'valid' : 'unknown';
}

const lineNames = ['methods', 'host', 'path', 'query'];

/** The latest time of a Date, milliseconds since the epoch; the expiry of a URL may be later. */
const latest = 8.64e15;

const columns: readonly Column[] = [
  { key: 'verdict' },
  { key: 'problems', as: 'list' },
  { key: 'service' },
  { key: 'url' },
  { key: 'grants', as: 'list' },
  { key: 'signer' },
  { key: 'roles', as: 'list' },
  { key: 'key' },
  { key: 'algorithm' },
  { key: 'expires', as: 'time' },
  { key: 'left', as: (value) => (typeof value === 'number' ? formatDuration(Math.max(0, value) * 1000) : '') },
  { key: 'signature' },
  { key: 'signed', as: 'list' },
];

function writeGrant({ method, operations, summary, refusal }: Grant): string {
  const what = operations.length === 0 ? method : `${method} ${operations.join(' or ')}: ${summary}`;
  return refusal === undefined ? what : `${what} (refused: ${refusal})`;
}

const explain = command({
  summary: 'Explain a signed URL: what it grants, until when, and whether its signature is valid',
  description:
    'Works offline with the keys of this machine, and never prints the signature. Shows the four signed lines (methods, host, path, query). If a common mistake explains a wrong signature, it also shows the first line that was signed differently. The method may be part of the signature only: if the key is not on this machine, give the method with --method. --compare takes the text that your program signed. The exit code is 0 for every verdict, unless --expect is given.',
  arguments: { url: one('The URL in quotes; - reads the URL from stdin, which hides it from other users of this machine') },
  options: {
    method: text('Method of the request; default: the signed methods', { placeholder: 'METHOD' }),
    service: choice('Service, if the URL does not tell', ['compute', 'stor'], { placeholder: 'NAME' }),
    compare: filePath('File with the text that a program signed; - for stdin'),
    expect: choice('Fail unless this is the verdict', ['valid', 'refused'], { placeholder: 'VERDICT' }),
  },
  run: async (invocation) => {
    const { args, options, world } = invocation;
    const given = args.url === '-' ? (await readInput(world, '-')).toString().trim() : args.url;
    const service = options.service === undefined ? undefined : options.service === 'stor' ? 'storage' : 'compute';
    const found = await invocation.inspectUrl({ url: given, service, method: options.method?.toUpperCase() });
    const grants = await listGrants(found);
    const compared =
      options.compare === undefined ? undefined : compareText(found.lines, (await readInput(world, options.compare)).toString());
    const verdict = judge(found, grants);
    const signature = describeSignature(found);
    const problems = [
      ...found.problems,
      ...(compared === undefined ? [] : [compared]),
      ...(found.result === 'differs' ? [`the signature ${signature}`] : []),
    ];
    const lines = found.lines.map((each) => redactPairs(each));
    if (options.expect !== undefined && options.expect !== verdict) {
      const reasons = found.result === 'differs' ? problems : [...problems, `the signature ${signature}`];
      throw new LocalError(`the verdict is ${verdict}: ${reasons.join('; ')}`);
    }
    const roles = found.query.find(([name]) => name === (found.service === 'compute' ? 'as-role' : 'role'))?.[1];
    return record(
      {
        verdict,
        problems,
        service: found.service,
        url: found.origin + found.path,
        methods: found.methods,
        grants: grants.map(writeGrant),
        signer: describeSigner(found),
        roles: roles?.split(',') ?? [],
        key: found.keyId?.key,
        algorithm: found.algorithm,
        ...(found.expires !== undefined && {
          ...(found.expires <= latest && { expires: new Date(found.expires).toISOString() }),
          left: Math.floor((found.expires - world.now()) / 1000),
        }),
        fits: found.result === 'unknown' ? null : found.result === 'fits',
        signature,
        line: found.difference?.line,
        lines,
        // One line for each, in the card that a terminal shows.
        signed: lines.map((each, at) => `${lineNames[at] ?? ''}: ${each}`),
      },
      { id: 'verdict', columns, fields: ['methods', 'fits', 'line', 'lines'] },
    );
  },
  examples: [
    { line: 'cloud url explain "$(cloud stor sign report.pdf)"', help: 'Show what the URL grants, and until when' },
    { line: 'cloud api sign /my/images -o name | cloud url explain - --expect valid', help: 'Fail unless the URL is valid now' },
  ],
});

export const url = group({
  summary: 'Signed URLs: what they grant, until when, and why one fails',
  commands: { explain },
});
