import { join } from 'node:path';

/** Folders of the program, after the XDG base directory specification. */
export interface Paths {
  /** Profiles and the choice of the current one. */
  config: string;
  /** What was learnt or left unfinished. */
  state: string;
  /** What can be fetched again. */
  cache: string;
  /** The local service's data. */
  data: string;
  /** The user's SSH keys. */
  ssh: string;
}

/** The folders for this user; a relative path in an XDG variable is ignored, as the specification asks. */
export function findPaths(env: Readonly<Record<string, string | undefined>>, home: string): Paths {
  const base = (variable: string, fallback: string): string => {
    const value = env[variable];
    return join(value?.startsWith('/') === true ? value : join(home, fallback), 'cloud');
  };
  return {
    config: base('XDG_CONFIG_HOME', '.config'),
    state: base('XDG_STATE_HOME', '.local/state'),
    cache: base('XDG_CACHE_HOME', '.cache'),
    data: base('XDG_DATA_HOME', '.local/share'),
    ssh: join(home, '.ssh'),
  };
}
