import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { useSandbox } from '../support/sandbox.ts';
import { lacks } from '../support/witnesses.ts';
import { guides, topics } from '../../src/cli/guides/index.ts';
import { commands, tree } from '../unit/cli/tree.ts';

const folder = resolve(import.meta.dirname, '../../man');
const pages = readdirSync(folder);

/** Text without what is struck over: a letter and a backspace before the letter that stays. */
function removeStruck(text: string): string {
  const parts = text.split('\b');
  return parts.map((part, at) => (at < parts.length - 1 ? part.slice(0, -1) : part)).join('');
}

/** A page as a terminal shows it, without bold and italics. */
function render(page: string): string {
  return removeStruck(execFileSync('mandoc', ['-T', 'utf8', '-O', 'width=200', join(folder, page)], { encoding: 'utf8' }));
}

describe('the manual', () => {
  it('has a page for the program, for every noun and for every guide, and no others', () => {
    const expected = ['cloud.1', ...tree.map(({ name }) => `cloud-${name}.1`), ...guides.map(({ page }) => `${page}.7`)];
    expect([...pages].sort()).toEqual(expected.sort());
  });

  it.skipIf(lacks('mandoc'))('is without fault for mandoc', () => {
    const { status, stdout } = spawnSync('mandoc', ['-T', 'lint', '-W', 'warning', ...pages.map((page) => join(folder, page))], {
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([0, '']);
  });

  it.skipIf(lacks('man'))('is found and read by man', () => {
    const words = ['-M', join(folder, '..'), '-l', join(folder, 'cloud-keys.1')];
    const text = execFileSync('man', words, { encoding: 'utf8', env: { ...process.env, MANPAGER: 'cat', PAGER: 'cat', MANWIDTH: '100' } });
    expect(stripVTControlCharacters(removeStruck(text))).toContain('cloud keys create');
  });

  it.skipIf(lacks('mandoc'))('shows each example as it is typed', () => {
    const texts = new Map(tree.map(({ name }) => [name, render(`cloud-${name}.1`)]));
    for (const [path, { examples }] of commands) {
      const text = texts.get(path.split(' ')[0] ?? '') ?? '';
      for (const { line } of examples) expect(text.split('\n').map((each) => each.trim())).toContain(line);
    }
  });

  it('names only files, options and environment variables once, and refers to pages that exist', () => {
    for (const page of pages) {
      const source = readFileSync(join(folder, page), 'utf8');
      for (const [, name = '', number = ''] of source.matchAll(/\\fB(cloud[\w\\-]*)\\fR\((\d)\)/g))
        expect(pages).toContain(`${name.replaceAll('\\', '')}.${number}`);
    }
  });
});

describe('cloud help TOPIC', () => {
  const sandbox = useSandbox();

  it.each(topics.map(({ topic, summary }) => [topic, summary]))('explains %s', async (topic, summary) => {
    const { code, stdout, stderr } = await sandbox.here(['help', topic]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.toLowerCase()).toContain(summary.toLowerCase());
    for (const line of stdout.split('\n')) if (!line.startsWith('    ')) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('names the topics, and the nearest one', async () => {
    const { stdout } = await sandbox.cloud(['help']);
    for (const { topic } of topics) expect(stdout.replaceAll(/\s+/g, ' ')).toContain(topic);
    expect((await sandbox.cloud(['help', 'signin'])).stderr).toContain('cloud help signing');
  });
});
