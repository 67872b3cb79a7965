// Builds the release: CommonJS, one chunk per lazily loaded module, outside packages bundled.
// CommonJS because Node starts it faster than ES modules; src/README.md has the reasons.
import { writeFileSync, mkdirSync, rmSync, readFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
rmSync('dist', { recursive: true, force: true });
mkdirSync('dist', { recursive: true });
writeFileSync('dist/package.json', '{ "type": "commonjs" }\n');

export default {
  input: { main: 'src/main.ts', generate: 'src/generate.ts' },
  platform: 'node',
  external: ['libsql'],
  transform: { define: { 'process.env.CLOUD_VERSION': JSON.stringify(version) }, target: 'node20.18' },
  output: {
    dir: 'dist',
    format: 'cjs',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    minify: { compress: true, mangle: false, codegen: true },
    dynamicImportInCjs: false,
    comments: { legal: true },
  },
};
