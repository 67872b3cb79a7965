import type { Checks } from '../check.ts';
import { authentication } from './authentication.ts';
import { directories, entries } from './directories.ts';
import { links } from './links.ts';
import { headers, metadata, seen } from './object-headers.ts';
import { namespace, objects } from './objects.ts';
import { uploads } from './uploads.ts';

/** The checks of the object storage, in the order of its document; those of every earlier response come last. */
export const storageChecks: Checks = [
  ...namespace,
  ...entries,
  ...headers,
  ...directories,
  ...objects,
  ...metadata,
  ...links,
  ...uploads,
  ...authentication,
  ...seen,
];
