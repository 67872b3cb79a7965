import type { Context, Noun } from '../../cli/command.ts';
import { askOnce, openCache } from '../../config/cache.ts';
import { findPaths } from '../../config/paths.ts';
import { collectInputs, openProfiles } from '../../config/profiles.ts';
import { resolveIdentity, resolveSettings, type SettingInputs } from '../../config/settings.ts';
import { escapeControl, hasControl } from '../../output/escape.ts';
import { createWriter } from '../../output/writer.ts';
import type { World } from '../../base/world.ts';
import type { Candidate, Question } from './candidate.ts';
import { readGivenSettings } from './line.ts';

/** Timeout of a completion, for which the shell's prompt waits, milliseconds. */
const timeoutMs = 2000;
/** How long a cached response is used, milliseconds: about as long as somebody keeps pressing Tab. */
const freshness = 10_000;

/** What a completion needs from the program. */
interface Program {
  readonly nouns: readonly Noun[];
  /** Creates the context of commands from global options. */
  readonly open: (world: World, globals: Readonly<Record<string, unknown>>) => Promise<Opened>;
}

/** The context of commands, and the function that releases it. */
interface Opened {
  readonly context: Context;
  readonly close: () => void;
}

/** Returns a world without terminals, so that nothing prompts; it is interrupted when the timeout ends. */
function hurry(world: World, ended: AbortSignal): World {
  const { stdin, stderr } = world;
  return {
    ...world,
    // Streams are created when they are read, which completion never does.
    stdin: {
      get stream() {
        return stdin.stream;
      },
      isTerminal: false,
    },
    stderr: {
      get stream() {
        return stderr.stream;
      },
      isTerminal: false,
      columns: stderr.columns,
    },
    interrupted: ended,
  };
}

/** The account, and an id of the connection and identity: cached responses are used under the same id only. */
function describeConnection(inputs: SettingInputs): { account: string; id: string } {
  const values = resolveSettings(inputs);
  const { signer, target } = resolveIdentity(inputs);
  const names = ['url', 'storUrl', 'user', 'role', 'keyId', 'keyFile'] as const;
  return { account: target ?? '', id: JSON.stringify([signer, target, ...names.map((name) => values[name]?.value)]) };
}

/** Creates the question from the command line, and the function that releases what its lookups opened. */
function createQuestion(world: World, { nouns, open }: Program): { question: Question; close: () => Promise<void> } {
  const [typed = '', ...words] = world.argv.slice(2);
  const given = readGivenSettings(words);
  const paths = findPaths(world.env, world.home);
  const { account, id } = describeConnection(collectInputs(openProfiles(paths.config), { options: given, env: world.env }));
  const cache = openCache({
    top: paths.cache,
    name: 'completion',
    connection: id,
    now: world.now,
    freshness,
    reportUnused: () => undefined,
  });
  let opened: Promise<Opened> | undefined;
  const globals = { ...given, timeout: `${timeoutMs}ms`, retries: '0', quiet: true, verbose: 0, curl: false };
  const openContext = async (): Promise<Context> => (await (opened ??= open(world, globals))).context;
  const ask: Question['ask'] = (name, fetch) => askOnce(cache, name, async () => fetch(await openContext()));
  return { question: { typed, words, nouns, account, ask, open: openContext }, close: async () => (await opened)?.close() };
}

function printCandidate({ value, help = '' }: Candidate): string {
  return help === '' ? `${value}\n` : `${value}\t${escapeControl(help)}\n`;
}

async function find(world: World, program: Program): Promise<Candidate[]> {
  const { lookUp } = await import('./sources.ts');
  const { question, close } = createQuestion(world, program);
  try {
    const found = await lookUp(world.argv[1] ?? '', question);
    // Each line holds one candidate, so that a name with a control character cannot be printed.
    return found.filter(({ value }) => value.startsWith(question.typed) && !hasControl(value));
  } finally {
    await close();
  }
}

/**
 * Serves the completion scripts: `cloud __complete SOURCE TYPED [WORD...]` prints the candidates for TYPED, one a line, with a tab and a
 * description. The WORDs are the command line before TYPED. On any error it prints nothing; it takes two seconds at most.
 */
export async function complete(world: World, program: Program): Promise<void> {
  const end = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Candidate[]>((resolve) => {
    timer = setTimeout(() => {
      end.abort();
      resolve([]);
    }, timeoutMs);
  });
  const found = await Promise.race([find(hurry(world, end.signal), program).catch(() => []), late]);
  clearTimeout(timer);
  const writer = createWriter(world.stdout);
  for (const candidate of found) await writer.write(printCandidate(candidate));
  await writer.close().catch(() => undefined);
}
