// Prints the packages of a release as CycloneDX: those that the program is bundled with (dist/LICENCES names them) and those
// that are installed with it. The same commit gives the same document.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const read = (file, words) => execFileSync(file, words, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
const list = (...words) => JSON.parse(read('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', ...words]));
const { serialNumber: _, ...sbom } = list();
const installed = new Set(list('--omit', 'dev').components.map((component) => component['bom-ref']));
const bundled = [...readFileSync('dist/LICENCES', 'utf8').matchAll(/^((?:@[\w.-]+\/)?[\w.-]+): [\w.() -]+$/gm)].map(([, name]) => name);
const components = sbom.components.filter((component) => bundled.includes(component.name) || installed.has(component['bom-ref']));
// The single file contains Node.js.
const node = read('cat', ['.ci/node-release']).trim();
const runtime = { 'bom-ref': `node@${node}`, type: 'application', name: 'node', version: node, scope: 'optional', purl: `pkg:generic/node@${node}` };
const missing = bundled.filter((name) => !components.some((component) => component.name === name));
if (missing.length > 0) throw new Error(`bundled, and not known to npm: ${missing.join(', ')}`);
const references = new Set([sbom.metadata.component['bom-ref'], ...components.map((component) => component['bom-ref'])]);
const dependencies = sbom.dependencies
  .filter(({ ref }) => references.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => references.has(each)) }));
const timestamp = new Date(Number(read('git', ['log', '-1', '--format=%ct'])) * 1000).toISOString();
const metadata = { ...sbom.metadata, timestamp };
// What is bundled stands among the packages that npm calls those of development.
const described = components.map((component) => ({ ...component, scope: bundled.includes(component.name) ? 'required' : 'optional' }));
process.stdout.write(`${JSON.stringify({ ...sbom, metadata, components: [...described, runtime], dependencies }, null, 2)}\n`);
