// Builds the release: CommonJS, one chunk per lazily loaded module, outside packages bundled.
// CommonJS because Node starts it faster than ES modules; src/README.md has the reasons.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants, brotliCompressSync } from 'node:zlib';
import { isolatedDeclarationSync, minifySync, transformSync } from 'rolldown/experimental';
import { parseAst } from 'rolldown/parseAst';

const { version, engines } = JSON.parse(readFileSync('package.json', 'utf8'));
const oldest = engines.node.replace('>=', '');

/** Commit and day of it; of a folder that is no repository nobody knows them. */
function readCommit() {
  const git = (...words) => execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    if (realpathSync(git('rev-parse', '--show-toplevel')) !== realpathSync('.')) return {};
    const [commit, date] = git('show', '--no-patch', '--format=%H %cs', 'HEAD').split(' ');
    const isChanged = git('status', '--porcelain', '--untracked-files=no') !== '';
    return { commit: `${commit.slice(0, 12)}${isChanged ? '+' : ''}`, date };
  } catch {
    return {};
  }
}
const { commit = 'unknown', date = 'unknown' } = readCommit();

/** Chunks that hold an outside package are named after it (`npm-yaml`), so that one can see what a command loads. */
function nameChunk({ moduleIds }) {
  const names = moduleIds.map((id) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1]);
  const packages = new Set(names.filter((name) => heavy.includes(name)));
  return packages.size === 0 ? '[name]-[hash].js' : `npm-${[...packages].join('-')}-[hash].js`;
}
const heavy = [
  'jq-wasm',
  'mime',
  'ora',
  'sshpk',
  'cli-table3',
  'yaml',
  'kysely',
  'pg',
  'chalk',
  'commander',
  'undici',
  'aws4fetch',
  'hash-wasm',
];

/**
 * Modules that are always loaded together stand in one file: each file costs a third of a millisecond. What a group holds must
 * not load more than its users need: test/e2e/startup.test.ts holds the limits.
 */
const groups = [
  // Every command line, help and completion.
  group(
    'start',
    '(main|run|signals|streams)',
    'base/(build|clock|error-copies|errors|is-record|lazily|nearest|quote|redact|split-list|world)',
    'commands/index',
    'cli/(exact-arguments|tree|globals|parameters|plain-line|synonyms)',
    'session/curl',
    'config/settings',
    'output/(colour|kinds|escape|field|notes|units|width|writer)',
  ),
  // Every noun.
  group(
    'nouns',
    'cli/(attempts|command|datacenters|shapes|prompt|input|wait|from|filters|named|rows)',
    'base/(absent-file|batches|calendar|count|iterate|newest|parallel|private-lines|uuid)',
    'lookup/(find|role|images|served)',
    'output/(bar|bottom-lines|units|field|spinner)',
    'api/(compute|fields|objects|resources|storage|stored-headers)',
    'http/network-error',
  ),
  // Every noun, and what is looked up for completion.
  group(
    'paths',
    'base/(fnv|lock|order|private-files)',
    'config/(cache|files|paths|profiles|state)',
    'client/request',
    'transfer/(entry-type|path)',
    'api/(aliases|media-type|message|operation)',
  ),
  // Every request.
  group(
    'session',
    'api/close-body',
    'session/(context|connect|endpoints|senders|sign|trace|voice)',
    'base/fingerprint',
    'client/[a-z-]+',
    'http/[a-z-]+',
    'auth/(authorization|der|find|fingerprint|key-folder|key-id|private-key|public-key|signer|wire|openssh-file)',
  ),
  // Every command of images: they are named with those that another noun goes on with.
  group('images', 'commands/images/(?!verify)[a-z-]+'),
  // Every result.
  group('render', 'output/(card|cell|data|render|rows|table)'),
  // Nouns that list directories or store a file: `stor`, `jobs`, `mpu`, `rbac`, `resume`.
  group(
    'tree',
    'transfer/(abilities|inspect|manifest-name|precondition|retry)',
    'transfer/tree/(braces|folders|glob|headers|keep-tags|list|listing-check|metadata|role-tags|walk|wildcard)',
    'transfer/local/(file-state|folders|named-pipe|partial-file|time|unfinished-name|write-target)',
    'transfer/upload/parts',
    'commands/stor/(headers|moment|names|paths)',
  ),
  // Nouns that transfer objects: `stor`, `jobs`, `mpu`.
  group(
    'transfer',
    'transfer/(engine|hashing)',
    'transfer/local/(links|source|walk)',
    'transfer/upload/(find-upload|multipart|quick|unfinished|upload)',
    'transfer/download/(download|ranges)',
    'commands/stor/(engine|monitor|recorder|show|tally|transfer-options)',
  ),
  // Commands of `stor` that act on many files: `find`, `rm`, `get`, `put`, `sync`, `cp`, `mv`.
  group(
    'files',
    'transfer/(tree-manifest|snapshot/place|tar/header|local/one-file|upload/known)',
    'transfer/sync/(backup|compare|decide|properties|steps|tree)',
    'transfer/tree/(link|link-table|remove|trees)',
    'commands/stor/(backup-dir|filters|link-known|local-places|nesting|put-once|put-target|rehearse|sides|skips|totals|unnoted-target)',
  ),
  // `cp` and `mv`.
  group('copy', 'commands/stor/(copy|copy-(?!across)[a-z]+|move)'),
];

function group(name, ...files) {
  return { name, test: new RegExp(`/src/(?:${files.join('|')})\\.ts$`) };
}

/** Loads modules of Node.js when they are first used: a command uses few of those that its chunks (and commander) name. */
function deferBuiltins(code) {
  const declarations = code.matchAll(/^\s*(?:let|const) (node_\w+|childProcess) = (require\("node:[^"]+"\));$/gm);
  return [...declarations].reduce((rest, [line, name, load]) => {
    const [uses, members] = [`\\b${name}\\b`, `\\b${name}\\.`].map((pattern) => rest.match(new RegExp(pattern, 'g'))?.length ?? 0);
    // One use is the declaration; one that is no member needs the module itself.
    if (uses !== members + 1) return rest;
    const deferred = `let ${name} = () => { const loaded = ${load}; ${name} = () => loaded; return loaded; };`;
    return rest
      .replace(line, '')
      .replace(new RegExp(`\\b${name}\\.`, 'g'), `(${name}()).`)
      .replace(/^/, `${deferred}\n`);
  }, code);
}

/** Shortens names: in our own files those alone that stand inside a function, because the others tell where an error came from. */
function shortenNames(code, chunk) {
  const own = { compress: false, mangle: { toplevel: false, keepNames: true } };
  return minifySync(chunk.fileName, code, nameChunk(chunk).startsWith('npm-') ? {} : own).code;
}

/** A file of ASCII is half as long in memory: one character that is none makes all of them wide. */
function escapeWide(bundle) {
  const escape = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  for (const chunk of Object.values(bundle)) if (chunk.type === 'chunk') chunk.code = chunk.code.replace(/[^\0-\x7f]/g, escape);
}

/** Names that are assigned to after their declaration, whichever scope they belong to. */
function findAssigned(tree) {
  const names = new Set();
  const take = (target) => {
    if (target?.type === 'Identifier') names.add(target.name);
    else if (target?.type !== 'MemberExpression') for (const part of Object.values(target ?? {})) if (typeof part === 'object') take(part);
  };
  const visit = (node) => {
    if (node === null || typeof node !== 'object') return;
    if (node.type === 'AssignmentExpression' || node.type === 'ForOfStatement' || node.type === 'ForInStatement') take(node.left);
    if (node.type === 'UpdateExpression') take(node.argument);
    Object.values(node).forEach(visit);
  };
  visit(tree);
  return names;
}

/** The name of a variable, and that under which it is given, where this is what gives it: an accessor. */
function readAccessor({ type, callee, arguments: given }) {
  if (type !== 'CallExpression' || callee.type !== 'MemberExpression' || callee.property.name !== 'defineProperty') return undefined;
  const get = given[2]?.properties?.find(({ key }) => key.name === 'get')?.value;
  const value = get?.body?.body[0]?.argument;
  return given[0].name === 'exports' && value?.type === 'Identifier' ? { name: given[1].value, variable: value.name } : undefined;
}

/**
 * What a file gives at its end, as plain properties: an accessor takes ten times as long to make, and is called for each use. Only what is
 * never assigned to again may have one; files do not load each other in a circle (`refuseCircles`), so that nobody can look before the end.
 */
function giveValues(code) {
  const tree = parseAst(code, { lang: 'js', sourceType: 'script' });
  const assigned = findAssigned(tree);
  const expressions = ({ expression }) =>
    expression?.type === 'SequenceExpression' ? expression.expressions : expression ? [expression] : [];
  const isGiving = (statement) => expressions(statement).length > 0 && expressions(statement).every((each) => readAccessor(each));
  const end = tree.body.slice(tree.body.findLastIndex((statement) => !isGiving(statement)) + 1);
  return end.flatMap(expressions).reduceRight((rest, each) => {
    const { name, variable } = readAccessor(each);
    if (assigned.has(variable)) return rest;
    return `${rest.slice(0, each.start)}exports.${name}=${variable}${rest.slice(each.end)}`;
  }, code);
}

/** What a file gives begins a line, where the check of the package finds it: it takes the slashes of an address for a comment. */
function separateExports(bundle) {
  for (const chunk of Object.values(bundle))
    if (chunk.type === 'chunk') chunk.code = chunk.code.replace(/([;,])(?=exports\.|Object\.defineProperty\(exports,)/g, '$1\n');
}

/** The few functions of the bundler stand in the file that is always loaded, not in one of their own, which every command would have to read. */
function joinRuntime(bundle) {
  const find = (wanted) => Object.values(bundle).find(({ type, isEntry, name }) => type === 'chunk' && !isEntry && name === wanted);
  const [runtime, start] = [find('rolldown-runtime'), find('start')];
  const load = (file) => `require("./${file}")`;
  for (const chunk of Object.values(bundle)) {
    if (chunk.type !== 'chunk' || !chunk.code.includes(load(runtime.fileName))) continue;
    const own = `exports.runtime=(function(exports){${runtime.code}\nreturn exports})({})`;
    chunk.code = chunk.code.replace(load(runtime.fileName), () => (chunk === start ? own : `${load(start.fileName)}.runtime`));
  }
  delete bundle[runtime.fileName];
}

/**
 * What the program is started with has a copy of its own of the two modules that it shares with the rest: a file for both would have to be read, and
 * compiled, before anything that was kept can be used.
 */
const ownCopy = {
  name: 'own-copy',
  resolveId(source, importer) {
    return /\/src\/start\/[a-z-]+\.ts$/.test(importer) && ['../base/private-files.ts', '../base/world.ts'].includes(source)
      ? importer.replace(/start\/[a-z-]+\.ts$/, `${source.slice(3)}?start`)
      : null;
  },
  load(id) {
    return id.endsWith('?start') ? { code: readFileSync(id.slice(0, -'?start'.length), 'utf8'), moduleType: 'ts' } : null;
  },
};

/** The program, which `bin/cloud` is a link to: on the way to it by a file of its own Node.js would spend a thirtieth of the time in which it starts. */
const program = 'start.js';

/** What a release of Node.js that is too old says instead of an error in the code: it stands first and in words that Node.js 12 reads, as does all of this file. */
const checkRelease = `(function () {
  var is = process.version.slice(1).split('.'), must = '${oldest}'.split('.');
  for (var at = 0; at < 3 && is[at] === must[at];) at += 1;
  if (at === 3 || Number(is[at]) > Number(must[at])) return;
  console.error('cloud needs Node.js ${oldest} or later; this is ' + process.version);
  process.exit(2);
})();`;

/** All files that the program loads in one, each as a function that is given what a module needs, as Node.js does it. */
function joinChunks(bundle) {
  let places = '';
  let code = '';
  for (const { type, isEntry, fileName, code: own } of Object.values(bundle)) {
    if (type !== 'chunk' || isEntry) continue;
    const wrapped = `(function (exports, require, module, __filename, __dirname) { ${own}\n});\n`;
    places += `|${fileName} ${code.length} ${wrapped.length}`;
    code += wrapped;
  }
  const file = `bundle-${createHash('sha256').update(code).digest('hex').slice(0, 12)}.js`;
  return { code, file, table: `${file}${places}|` };
}

function makeRunnable(bundle, emit) {
  const joined = joinChunks(bundle);
  emit({ type: 'asset', fileName: joined.file, source: joined.code });
  bundle[program].code = bundle[program].code.replace(/(["'`])CLOUD_BUNDLE\1/, `'${joined.table}'`);
  const { code, errors } = transformSync(program, bundle[program].code, { target: 'node12', sourceType: 'script' });
  if (errors.length > 0) throw new Error(`${program}: ${errors[0].message}`);
  const short = minifySync(program, code, { compress: false, mangle: false }).code;
  bundle[program].code = `#!/usr/bin/env node\n${checkRelease}\n${short}`;
}

/** Files that load each other work or fail by the order in which they are asked for: such a grouping is refused. */
function refuseCircles(bundle) {
  const follow = (file, path) => {
    if (path.includes(file)) throw new Error(`chunks load each other: ${[...path, file].join(' > ')}: change the groups`);
    for (const next of bundle[file]?.imports ?? []) follow(next, [...path, file]);
  };
  for (const file of Object.keys(bundle)) follow(file, []);
}

/** jq as WebAssembly, a quarter of its size; compressing it takes longer than all the rest, so it is done once. */
function compressJq() {
  const [file, kept] = ['node_modules/jq-wasm/dist/build/jq.wasm', 'dist/jq.wasm.br'];
  if (existsSync(kept) && statSync(kept).mtimeMs > statSync('package-lock.json').mtimeMs) return readFileSync(kept);
  return brotliCompressSync(readFileSync(file), { params: { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS } });
}

/** The licences of all packages that a release contains: each wants to be where the package is. */
function collectLicences(bundle) {
  const ids = Object.values(bundle).flatMap(({ moduleIds = [] }) => moduleIds);
  const folders = new Set(ids.map((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]).filter((folder) => folder !== undefined));
  const texts = [...folders].sort().map((folder) => {
    const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
    const { name, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
    return `${name}: ${license}\n\n${file === undefined ? '' : readFileSync(`${folder}/${file}`, 'utf8').trim()}\n`;
  });
  return [...texts, readFileSync('.config/jq-licences.txt', 'utf8')].join(`\n${'-'.repeat(80)}\n\n`);
}

/** The module `cloud/local` with its types: what test suites import, apart from the program. */
const moduleFiles = ['local.js', 'local.d.ts', 'local-values.d.ts'];

/** The types that a file gives, as it declares them. */
function declareTypes(file) {
  const { code, errors } = isolatedDeclarationSync(file, readFileSync(file, 'utf8'));
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  return code.replaceAll('./api/control-values.ts', './local-values.js').replaceAll('./api/control-values', './local-values');
}

mkdirSync('dist', { recursive: true });
writeFileSync('dist/package.json', '{ "type": "commonjs" }\n');

const programBuild = {
  input: { start: 'src/start/index.ts', generate: 'src/generate.ts' },
  platform: 'node',
  preserveEntrySignatures: false,
  plugins: [
    ownCopy,
    { name: 'defer-builtins', renderChunk: deferBuiltins },
    { name: 'shorten-names', renderChunk: shortenNames },
    { name: 'give-values', renderChunk: giveValues },
    { name: 'separate-exports', generateBundle: (_, bundle) => separateExports(bundle) },
    { name: 'join-runtime', generateBundle: (_, bundle) => joinRuntime(bundle) },
    { name: 'escape-wide', generateBundle: (_, bundle) => escapeWide(bundle) },
    {
      name: 'make-runnable',
      generateBundle(_, bundle) {
        makeRunnable(bundle, (file) => this.emitFile(file));
      },
      writeBundle: () => chmodSync(`dist/${program}`, 0o755),
    },
    { name: 'refuse-circles', generateBundle: (_, bundle) => refuseCircles(bundle) },
    {
      name: 'add-files',
      generateBundle(_, bundle) {
        this.emitFile({ type: 'asset', fileName: 'LICENCES', source: collectLicences(bundle) });
        this.emitFile({ type: 'asset', fileName: 'jq.wasm.br', source: compressJq() });
      },
    },
    {
      name: 'remove-old-chunks',
      // After the new ones are written: a program that runs meanwhile finds its files for as long as possible.
      writeBundle(_, bundle) {
        for (const file of readdirSync('dist'))
          if (!(file in bundle) && file !== 'package.json' && !moduleFiles.includes(file)) rmSync(`dist/${file}`);
      },
    },
  ],
  external: ['libsql', 'pg-native'],
  transform: {
    define: {
      'process.env.CLOUD_VERSION': JSON.stringify(version),
      'process.env.CLOUD_COMMIT': JSON.stringify(commit),
      'process.env.CLOUD_COMMIT_DATE': JSON.stringify(date),
    },
    target: 'node20.18',
  },
  output: {
    dir: 'dist',
    format: 'cjs',
    entryFileNames: '[name].js',
    chunkFileNames: nameChunk,
    codeSplitting: { groups, includeDependenciesRecursively: false },
    minify: { compress: true, mangle: false, codegen: true },
    dynamicImportInCjs: false,
    comments: { legal: true },
  },
};

const moduleBuild = {
  input: { local: 'src/local.ts' },
  platform: 'node',
  plugins: [
    {
      name: 'declare-types',
      generateBundle() {
        this.emitFile({ type: 'asset', fileName: 'local.d.ts', source: declareTypes('src/local.ts') });
        this.emitFile({ type: 'asset', fileName: 'local-values.d.ts', source: declareTypes('src/api/control-values.ts') });
      },
    },
  ],
  transform: { target: 'node20.18' },
  output: { dir: 'dist', format: 'cjs', entryFileNames: '[name].js', comments: { legal: true } },
};

export default [programBuild, moduleBuild];
