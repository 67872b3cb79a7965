/** A limit of the services; its name contains the unit. The default applies unless the service is started with another value. */
export interface ServiceLimit {
  /** Infinity: unlimited. */
  readonly default: number;
  /** One sentence without a full stop, for help and the manual. */
  readonly help: string;
}

/**
 * All limits of both services: the one table that the services enforce and help shows. A request that exceeds a limit gets a 4xx response
 * that names the limit, and is logged (`server/limit.ts`). Set by `cloud local start --limit NAME=N`, with the name as `writeLimitName`
 * returns it, or by `ServiceSettings.serviceLimits`.
 */
export const serviceLimits = {
  ruleBytes: { default: 4096, help: 'Bytes of a policy rule' },
  ruleComparisons: { default: 64, help: 'Comparisons in the condition of a policy rule' },
  policyRules: { default: 100, help: 'Rules of a policy' },
  rolePolicies: { default: 50, help: 'Policies of a role' },
  roleMembers: { default: 1000, help: 'Members of a role' },
  decisionSteps: {
    default: 1_000_000,
    help: 'Steps of about 15 ns that deciding about one request may take; what needs more is not allowed',
  },
  decisionBytes: { default: 1_048_576, help: 'Bytes of policy rules that deciding about one request may read' },
  userKeys: { default: 100, help: 'Keys of an account, and of each of its users' },
  keyBytes: { default: 16_384, help: 'Bytes of a key that is registered, with its comment' },
  keysTried: { default: 5, help: 'Keys of the same name that are tried on one signature' },
  attestationCertificates: { default: 10, help: 'Certificates that attest a key' },
  users: { default: 10_000, help: 'Users of an account' },
  roles: { default: 10_000, help: 'Roles of an account' },
  policies: { default: 10_000, help: 'Policies of an account' },
  images: { default: 10_000, help: 'Images that an account owns' },
  accountBytes: { default: Infinity, help: 'Bytes of the objects of an account, links and parts of open uploads included' },
  accountObjects: { default: Infinity, help: 'Objects of an account, links included' },
  accountRequests: { default: Infinity, help: 'Requests a second that an account and its users send to both services' },
  runningRequests: { default: 1000, help: 'Requests under way in a gateway; no limit of cloud local' },
  memoryPercent: {
    default: 85,
    help: 'Per cent of its memory that a gateway uses while it takes further requests; no limit of cloud local',
  },
  openUploads: { default: 10_000, help: 'Multipart uploads of an account that are neither committed nor aborted' },
  uploadDays: { default: 3650, help: 'Days after which an upload that is neither committed nor aborted is given up with its parts' },
  jobDays: { default: 365, help: 'Days after which a job that is done is known by the files in its directory alone' },
  auditDays: { default: 365, help: 'Days for which gateways keep the audit log' },
  jobInputs: { default: 1_000_000, help: 'Inputs of a job' },
  accountTasks: { default: 1_000_000, help: 'Tasks of jobs of an account that run at the same time' },
  connections: { default: 10_000, help: 'Connections to both services; fewer where the system allows few open files' },
  handshakeMilliseconds: { default: 10_000, help: 'Milliseconds that a client has for the TLS handshake' },
  targetBytes: { default: 16_384, help: 'Bytes of the path and query of a request' },
  headerBytes: { default: 16_384, help: 'Bytes of the header lines of a request' },
  headerLines: { default: 500, help: 'Header lines of a request' },
  pipelinedRequests: { default: 100, help: 'Requests of a connection that wait for the response to an earlier one' },
  bodyRate: { default: 1024, help: 'Bytes a second, over a minute, at which a request body must arrive at least' },
  parameterBytes: { default: 1_048_576, help: 'Bytes of a request body that holds parameters' },
} as const satisfies Readonly<Record<string, ServiceLimit>>;

export type LimitName = keyof typeof serviceLimits;

/** Limits that differ from the defaults. */
export type LimitValues = Readonly<Partial<Record<LimitName, number>>>;

/** The name of a limit in options, messages and the log: `policyRules` becomes `policy-rules`. */
export function writeLimitName(limit: LimitName): string {
  return limit.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);
}
