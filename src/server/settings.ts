import type { LimitValues } from '../api/service-limits.ts';
import type { Faults } from './faults/rules.ts';

/** URLs by names. */
export interface OwnAddresses {
  readonly datacenters: Readonly<Record<string, string>>;
  readonly services: Readonly<Record<string, string>>;
}

/** How the services differ from the plain ones; everything may be left out. */
export interface ServiceSettings {
  /** Milliseconds by which reads of sub-users, roles and policies lag behind writes (compute specification, section 1, rule 6). */
  readonly staleness?: number | undefined;
  /** Whether the operator enabled the plug-in of provisioning limits. */
  readonly limits?: boolean | undefined;
  /** Certificate, PEM, under which attestations of keys are believed. */
  readonly attestationAuthority?: string | undefined;
  /** Milliseconds that the making of an image takes. */
  readonly imageTime?: number | undefined;
  /** Requests a second to the compute service; more are answered 420. */
  readonly throttle?: number | undefined;
  /** Milliseconds that every reply of both services waits. */
  readonly latency?: number | undefined;
  readonly faults?: Faults | undefined;
  /** Limits that differ from the defaults of `api/service-limits.ts`. */
  readonly serviceLimits?: LimitValues | undefined;
  /** Data directories of other local services, by the name of the datacenter that each stands for; images are imported from them. */
  readonly peers?: ReadonlyMap<string, string> | undefined;
  /** Addresses that this process answers for itself, in place of those that the database has for the same names. Ports are known late. */
  readonly addresses?: (() => OwnAddresses) | undefined;
}
