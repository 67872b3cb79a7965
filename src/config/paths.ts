/** Folders of the program, as in the XDG base directory specification. */
export interface Paths {
  /** Profiles, and the name of the current one. */
  readonly config: string;
  /** Learned data and unfinished work. */
  readonly state: string;
  /** Data that can be fetched again. */
  readonly cache: string;
  /** The local service's data. */
  readonly data: string;
  /** The user's SSH keys. */
  readonly ssh: string;
}

/** Removes trailing slashes; does no more, because `node:path` takes as long as reading a profile. */
function trimSlashes(folder: string): string {
  return folder.endsWith('/') ? folder.replace(/\/+$/, '') : folder;
}

/** Variable with a folder for configuration, state, cache and data, in place of those of XDG; `cloud local run` sets it for its program. */
export const homeVariable = 'CLOUD_HOME';

/** The folders of this user. Ignores relative paths in variables, as the specification of XDG requires. Getters: a command uses two. */
export function findPaths(env: Readonly<Record<string, string | undefined>>, home: string): Paths {
  const own = env[homeVariable];
  const base = (variable: string, fallback: string, name: string): string => {
    if (own?.startsWith('/') === true) return `${trimSlashes(own)}/${name}`;
    const value = env[variable];
    return `${trimSlashes(value?.startsWith('/') === true ? value : `${trimSlashes(home)}/${fallback}`)}/cloud`;
  };
  return {
    get config() {
      return base('XDG_CONFIG_HOME', '.config', 'config');
    },
    get state() {
      return base('XDG_STATE_HOME', '.local/state', 'state');
    },
    get cache() {
      return base('XDG_CACHE_HOME', '.cache', 'cache');
    },
    get data() {
      return base('XDG_DATA_HOME', '.local/share', 'data');
    },
    get ssh() {
      return `${trimSlashes(home)}/.ssh`;
    },
  };
}
