import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** What a program prints for --help; empty if it cannot be run. */
export async function readHelp(program: string): Promise<string> {
  try {
    const { stdout, stderr } = await promisify(execFile)(program, ['--help'], { env: { ...process.env, LC_ALL: 'C' } });
    return stdout + stderr;
  } catch {
    return '';
  }
}
