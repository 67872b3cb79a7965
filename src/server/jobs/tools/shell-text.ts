/** How the scripts of the tools that leave outputs begin: the shared functions stand beside each of them. */
export const source = `#!/usr/bin/env bash
. "\${BASH_SOURCE[0]%/*}/.job-tools"
`;
