import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useSandbox } from '../support/sandbox.ts';

const program = resolve(import.meta.dirname, '../../dist/generate.js');
const record = '{"name": "x", "man": [], "version": "1.0.0"}';
const markers = '# cloud\n\n<!-- commands -->\nold\n<!-- /commands -->\n\nAfter.\n';

describe('generate', () => {
  const { home, write } = useSandbox();

  function generate(...words: string[]): { status: number | null; stderr: string } {
    const { status, stderr } = spawnSync(process.execPath, [program, ...words], { cwd: home, encoding: 'utf8' });
    return { status, stderr };
  }

  const read = (name: string): string => readFileSync(join(home, name), 'utf8');

  it('says that README.md is missing, or its markers', () => {
    expect(generate()).toEqual({ status: 1, stderr: 'generate: README.md is missing\n' });
    write('README.md', '# cloud\n');
    expect(generate('--check')).toEqual({
      status: 1,
      stderr: 'generate: README.md does not have the lines <!-- commands --> and <!-- /commands -->\n',
    });
  });

  it('writes the scripts, and the table between the markers alone', () => {
    write('README.md', markers);
    write('package.json', record);
    write('man/cloud-gone.1', '.TH CLOUD-GONE 1');
    expect(generate()).toEqual({ status: 0, stderr: '' });
    expect(read('completions/cloud.bash')).toContain('complete -F _cloud cloud');
    expect(read('completions/_cloud')).toMatch(/^#compdef cloud\n/);
    expect(read('completions/cloud.fish')).toContain('complete -c cloud');
    expect(read('man/cloud.1')).toMatch(/^\.TH CLOUD 1 /);
    expect(read('man/cloud-signing.7')).toMatch(/^\.TH CLOUD-SIGNING 7 /);
    expect(read('README.md')).toMatch(/^# cloud\n\n<!-- commands -->\n\n\| command \|[^<]*\|\n\n<!-- \/commands -->\n\nAfter\.\n$/);
  });

  it('lists the pages of the manual in package.json, and leaves the rest of it alone', () => {
    const { man, ...rest } = JSON.parse(read('package.json')) as { man: string[] };
    expect([Object.keys(JSON.parse(read('package.json')) as object), rest]).toEqual([
      ['name', 'man', 'version'],
      { name: 'x', version: '1.0.0' },
    ]);
    expect(man).toContain('./man/cloud.1');
    for (const page of man) expect(read(page)).toMatch(/^\.TH /);
  });

  it('takes away the page of a command that is no more', () => {
    expect(() => read('man/cloud-gone.1')).toThrow('ENOENT');
  });

  it('changes nothing the second time', () => {
    const before = [read('README.md'), read('package.json')];
    expect(generate('--check')).toEqual({ status: 0, stderr: '' });
    expect(generate()).toEqual({ status: 0, stderr: '' });
    expect([read('README.md'), read('package.json')]).toEqual(before);
  });

  it('names each stale file with --check, and leaves it alone', () => {
    const stale = { 'completions/_cloud': 'old\n', 'README.md': markers, 'package.json': record, 'man/cloud-gone.1': '.TH CLOUD-GONE 1' };
    for (const [name, text] of Object.entries(stale)) write(name, text);
    expect(generate('--check')).toEqual({
      status: 1,
      stderr:
        'completions/_cloud is stale: npm run generate\npackage.json is stale: npm run generate\n' +
        'README.md is stale: npm run generate\nman/cloud-gone.1 is of no command: npm run generate\n',
    });
    for (const [name, text] of Object.entries(stale)) expect(read(name), name).toBe(text);
  });
});
