// Builds the release: CommonJS, one chunk per lazily loaded module, outside packages bundled.
// CommonJS because Node starts it faster than ES modules; src/README.md has the reasons.
import { writeFileSync, mkdirSync, readdirSync, rmSync, readFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
/** Chunks that hold an outside package are named after it (`npm-yaml`), so that one can see what a command loads. */
function nameChunk({ moduleIds }) {
  const names = moduleIds.map((id) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1]);
  const packages = new Set(names.filter((name) => heavy.includes(name)));
  return packages.size === 0 ? '[name]-[hash].js' : `npm-${[...packages].join('-')}-[hash].js`;
}
const heavy = ['mime', 'undici', 'ora', 'sshpk', 'cli-table3', 'yaml', 'kysely', 'chalk', 'commander'];

mkdirSync('dist', { recursive: true });
writeFileSync('dist/package.json', '{ "type": "commonjs" }\n');

export default {
  input: { main: 'src/main.ts', generate: 'src/generate.ts' },
  platform: 'node',
  plugins: [
    {
      name: 'remove-old-chunks',
      // After the new ones are written: a program that runs meanwhile finds its files for as long as possible.
      writeBundle(_, bundle) {
        for (const file of readdirSync('dist')) if (!(file in bundle) && file !== 'package.json') rmSync(`dist/${file}`);
      },
    },
  ],
  external: ['libsql'],
  transform: { define: { 'process.env.CLOUD_VERSION': JSON.stringify(version) }, target: 'node20.18' },
  output: {
    dir: 'dist',
    format: 'cjs',
    entryFileNames: '[name].js',
    chunkFileNames: nameChunk,
    minify: { compress: true, mangle: false, codegen: true },
    dynamicImportInCjs: false,
    comments: { legal: true },
  },
};
