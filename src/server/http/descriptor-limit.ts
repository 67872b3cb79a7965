import { readFileSync } from 'node:fs';

/** Assumed if the system does not report a limit: the usual soft limit of a shell. */
const assumedLimit = 1024;

/** The number of file descriptors that this process may have open. */
export function readDescriptorLimit(): number {
  try {
    const [, soft = ''] = /^Max open files\s+(\d+|unlimited)/mu.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    if (soft === 'unlimited') return Infinity;
    return soft === '' ? assumedLimit : Number(soft);
  } catch {
    return assumedLimit;
  }
}
