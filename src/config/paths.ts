/** Folders of the program, after the XDG base directory specification. */
export interface Paths {
  /** Profiles and the choice of the current one. */
  readonly config: string;
  /** What was learnt or left unfinished. */
  readonly state: string;
  /** What can be fetched again. */
  readonly cache: string;
  /** The local service's data. */
  readonly data: string;
  /** The user's SSH keys. */
  readonly ssh: string;
}

/** A folder as names are put under it. Nothing more is done to it: what `node:path` does takes as long as reading a profile. */
function trimSlashes(folder: string): string {
  return folder.endsWith('/') ? folder.replace(/\/+$/, '') : folder;
}

/** The folders for this user; a relative path in an XDG variable is ignored, as the specification asks. Each is made when asked for: a command uses two. */
export function findPaths(env: Readonly<Record<string, string | undefined>>, home: string): Paths {
  const base = (variable: string, fallback: string): string => {
    const value = env[variable];
    return `${trimSlashes(value?.startsWith('/') === true ? value : `${trimSlashes(home)}/${fallback}`)}/cloud`;
  };
  return {
    get config() {
      return base('XDG_CONFIG_HOME', '.config');
    },
    get state() {
      return base('XDG_STATE_HOME', '.local/state');
    },
    get cache() {
      return base('XDG_CACHE_HOME', '.cache');
    },
    get data() {
      return base('XDG_DATA_HOME', '.local/share');
    },
    get ssh() {
      return `${trimSlashes(home)}/.ssh`;
    },
  };
}
