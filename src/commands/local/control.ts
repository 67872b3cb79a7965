import type { ControlInput, ControlName, ControlResult } from '../../api/control.ts';
import { sendControl } from '../../base/control-request.ts';
import { controlSocketOf } from '../../base/control-socket.ts';
import { isSystemError, LocalError, NetworkError, NotFoundError, UsageError } from '../../base/errors.ts';
import { findHolder } from './holder.ts';
import { readRunFile } from './running.ts';

/** Error codes of a socket on which no process listens. */
const absent = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTDIR']);

/** Explains why the socket did not respond. */
function explainFailure(dataDir: string, cause: NodeJS.ErrnoException): Error {
  const pid = findHolder(dataDir, readRunFile(dataDir)?.pid);
  // Connections of a service that is killed are reset.
  const isAbsent = absent.has(cause.code ?? '');
  if (pid === undefined && (isAbsent || cause.code === 'ECONNRESET'))
    return new LocalError(`no service runs on ${dataDir}`, { hint: 'cloud local start', cause });
  if (isAbsent) {
    return new LocalError(`the service on ${dataDir} (process ${pid}) has no control interface`, {
      hint: 'see its log for the reason: cloud local logs; a service of an older release has none: cloud local stop && cloud local start',
      cause,
    });
  }
  return new NetworkError(`${controlSocketOf(dataDir)}: ${cause.message}`, { cause });
}

function readJson(dataDir: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new NetworkError(`${controlSocketOf(dataDir)} sent a response that is not JSON`, { cause: error });
  }
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

function readRefusal({ code, message, hint }: Refusal): Error {
  if (code === 'UsageError') return new UsageError(message, { hint });
  return code === 'NotFound' ? new NotFoundError(message, { hint }) : new LocalError(message, { hint });
}

/**
 * Runs an operation of the control interface of the service on a data directory.
 * @throws {LocalError} when no service runs there; errors of the service with its message
 */
export async function control<N extends ControlName>(dataDir: string, name: N, input: ControlInput<N>): Promise<ControlResult<N>> {
  try {
    const { status, text } = await sendControl(dataDir, name, input);
    const value = readJson(dataDir, text);
    if (status !== 200) throw readRefusal(value as Refusal);
    return value as ControlResult<N>;
  } catch (error) {
    throw isSystemError(error) ? explainFailure(dataDir, error) : error;
  }
}
