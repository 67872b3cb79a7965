/** Which build of the program this is; the build puts it in. */
export const build = {
  version: process.env['CLOUD_VERSION'] ?? '0.0.0',
  /** Beginning of the commit's id; a `+` after it stands for changes that were not committed. */
  commit: process.env['CLOUD_COMMIT'] ?? 'unknown',
  /** Day of the commit, ISO 8601. */
  date: process.env['CLOUD_COMMIT_DATE'] ?? 'unknown',
} as const;

/** Version, commit and day in words. */
export function describeBuild(): string {
  return `${build.version} (commit ${build.commit} of ${build.date})`;
}
