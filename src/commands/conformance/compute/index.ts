import type { Checks } from '../check.ts';
import { policies, roles, roleTags } from './access.ts';
import { access, authentication } from './authentication.ts';
import { images, places } from './catalogue.ts';
import { keys } from './keys.ts';
import { packages } from './packages.ts';
import { account, users } from './people.ts';
import { errors, parameters, ping, seen, versions } from './protocol.ts';

/** The checks of the compute service, in the order of its document; those of every earlier response come last. */
export const computeChecks: Checks = [
  ...parameters,
  ...account,
  ...keys,
  ...users,
  ...roles,
  ...roleTags,
  ...policies,
  ...places,
  ...images,
  ...packages,
  ...ping,
  ...authentication,
  ...access,
  ...errors,
  ...versions,
  ...seen,
];
