import type { LimitValues } from '../api/service-limits.ts';
import type { Faults } from './faults/rules.ts';

/** URLs by name. */
export interface OwnAddresses {
  readonly datacenters: Readonly<Record<string, string>>;
  readonly services: Readonly<Record<string, string>>;
}

/** Settings of the services, all optional. */
export interface ServiceSettings {
  /** Milliseconds by which reads of sub-users, roles and policies may lag behind writes (compute specification, section 1, rule 6). */
  readonly staleness?: number | undefined;
  /** True if the operator enabled the plug-in for provisioning limits. */
  readonly limits?: boolean | undefined;
  /** Certificate in PEM of the authority whose key attestations are trusted. */
  readonly attestationAuthority?: string | undefined;
  /** Duration of image creation, milliseconds. */
  readonly imageTime?: number | undefined;
  /** Maximum requests per second to the compute service; further ones get status 420. */
  readonly throttle?: number | undefined;
  /** Milliseconds by which every response of both services is delayed. */
  readonly latency?: number | undefined;
  readonly faults?: Faults | undefined;
  /** Limits that differ from the defaults of `api/service-limits.ts`. */
  readonly serviceLimits?: LimitValues | undefined;
  /** Data directories of other local services, by the name of the datacenter that each represents; images are imported from them. */
  readonly peers?: ReadonlyMap<string, string> | undefined;
  /**
   * URLs of this process, which take precedence over those in the database with the same names. A function, because ports are not known at
   * the start.
   */
  readonly addresses?: (() => OwnAddresses) | undefined;
}
