/** First lines of the scripts that leave outputs: they source the shared functions, which are installed beside the scripts. */
export const source = `#!/usr/bin/env bash
. "\${BASH_SOURCE[0]%/*}/.job-tools"
`;
