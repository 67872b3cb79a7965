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
    help: 'Steps of about 15 ns for the access decision on a request; a request that needs more is denied',
  },
  decisionBytes: { default: 1_048_576, help: 'Bytes of policy rules read for the access decision on a request' },
  userKeys: { default: 100, help: 'Keys of an account, and of each of its users' },
  keyBytes: { default: 16_384, help: 'Bytes of a registered key, including its comment' },
  keysTried: { default: 5, help: 'Keys of the same name tried for one signature' },
  attestationCertificates: { default: 10, help: 'Certificates that attest a key' },
  users: { default: 10_000, help: 'Users of an account' },
  roles: { default: 10_000, help: 'Roles of an account' },
  policies: { default: 10_000, help: 'Policies of an account' },
  accountMembers: { default: 100_000, help: 'Members of all roles of an account, counted for roles with more than 10' },
  listCharacters: {
    default: 16_777_216,
    help: 'Characters of all policies of an account, of all its users, or of the tags and access lists of all its images, counted for those with more than 1000',
  },
  images: { default: 10_000, help: 'Images that an account owns' },
  accountBytes: { default: Infinity, help: 'Bytes of the objects of an account, links and parts of open uploads included' },
  accountObjects: { default: Infinity, help: 'Objects of an account, links included' },
  accountRequests: { default: Infinity, help: 'Requests per second of an account and its users to both services' },
  runningRequests: { default: 1000, help: 'Concurrent requests in a gateway; not a limit of cloud local' },
  memoryPercent: {
    default: 85,
    help: 'Percentage of its memory up to which a gateway accepts requests; not a limit of cloud local',
  },
  openUploads: { default: 10_000, help: 'Open multipart uploads of an account (neither committed nor aborted)' },
  uploadDays: { default: 30, help: 'Days after its last part after which an open multipart upload is deleted with its parts' },
  finishedUploadDays: { default: 30, help: 'Days for which a committed or aborted multipart upload is remembered' },
  jobDays: { default: 365, help: 'Days after which only the files in its directory remain of a finished job' },
  auditDays: { default: 365, help: 'Days for which gateways keep the audit log' },
  runningJobs: { default: 10_000, help: 'Jobs of an account that are not done' },
  jobInputs: { default: 1_000_000, help: 'Inputs of a job' },
  accountTasks: { default: 1_000_000, help: 'Tasks of jobs of an account that run at the same time' },
  connections: { default: 10_000, help: 'Connections to both services; fewer if the system allows few open files' },
  handshakeMilliseconds: { default: 10_000, help: 'Milliseconds for the TLS handshake of a client' },
  targetBytes: { default: 16_384, help: 'Bytes of the path and query of a request' },
  headerBytes: { default: 16_384, help: 'Bytes of the header lines of a request' },
  headerLines: { default: 500, help: 'Header lines of a request' },
  pipelinedRequests: { default: 100, help: 'Pipelined requests waiting on a connection' },
  bodyRate: { default: 1024, help: 'Minimum bytes per second of a request body, measured over a minute' },
  parameterBytes: { default: 1_048_576, help: 'Bytes of a request body that holds parameters' },
} as const satisfies Readonly<Record<string, ServiceLimit>>;

export type LimitName = keyof typeof serviceLimits;

/** Limits that differ from the defaults. */
export type LimitValues = Readonly<Partial<Record<LimitName, number>>>;

/** The name of a limit in options, messages and the log: `policyRules` becomes `policy-rules`. */
export function writeLimitName(limit: LimitName): string {
  return limit.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);
}
