import type { Noun } from '../../cli/command.ts';
import { globalOptions } from '../../cli/globals.ts';
import { findCommand, takesValue } from '../../cli/tree.ts';
import { kebab, settingNames, settings, type SettingName } from '../../config/settings.ts';

/** The settings on a command line, before or after its command. */
export function readGivenSettings(words: readonly string[]): Partial<Record<SettingName, string>> {
  const given: Partial<Record<SettingName, string>> = {};
  const end = words.indexOf('--');
  const options = end < 0 ? words : words.slice(0, end);
  for (const name of settingNames) {
    if (settings[name].given === 'profile') continue;
    const long = `--${kebab(name)}`;
    const glued = options.findLast((word) => word.startsWith(`${long}=`));
    const at = options.lastIndexOf(long);
    if (settings[name].kind === 'flag') {
      if (at >= 0) given[name] = 'true';
    } else if (glued !== undefined) given[name] = glued.slice(long.length + 1);
    else if (at >= 0 && at + 1 < options.length) given[name] = options[at + 1] ?? '';
  }
  return given;
}

/** The words that follow the command. */
export interface TypedWords {
  readonly arguments: readonly string[];
  /** Values of options by their long names. */
  readonly options: ReadonlyMap<string, string>;
}

/** Separates the arguments on a command line from its options. */
export async function readTyped(nouns: readonly Noun[], words: readonly string[]): Promise<TypedWords> {
  const { node, rest } = await findCommand(nouns, words);
  const declared = Object.entries({ ...globalOptions(), ...(node?.kind === 'command' ? node.options : {}) });
  const typed = { arguments: [] as string[], options: new Map<string, string>() };
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? '';
    if (word === '--') {
      typed.arguments.push(...rest.slice(at + 1));
      break;
    }
    if (!word.startsWith('-') || word === '-') {
      typed.arguments.push(word);
      continue;
    }
    const [name = '', value] = word.startsWith('--') ? word.split(/=(.*)/s) : [word];
    const found = declared.find(([key, { short }]) => name === `--${kebab(key)}` || (short !== undefined && name === `-${short}`));
    if (found && value === undefined && takesValue(found[1])) typed.options.set(found[0], rest[(at += 1)] ?? '');
    else if (found && value !== undefined) typed.options.set(found[0], value);
  }
  return typed;
}
