/** Version and commit of this program; the build replaces the environment variables by their values. */
export const build = {
  version: process.env['CLOUD_VERSION'] ?? '0.0.0',
  /** Beginning of the commit's id, followed by `+` if there were uncommitted changes. */
  commit: process.env['CLOUD_COMMIT'] ?? 'unknown',
  /** Day of the commit, ISO 8601. */
  date: process.env['CLOUD_COMMIT_DATE'] ?? 'unknown',
} as const;

export function describeBuild(): string {
  return `${build.version} (commit ${build.commit} of ${build.date})`;
}
