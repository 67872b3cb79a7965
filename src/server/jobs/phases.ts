import type { Phase } from '../../api/objects.ts';
import { ApiError } from '../../base/errors.ts';
import type { JobRow } from '../store/job-schema.ts';

/** Maximum number of reducers of a phase. */
const mostReducers = 128;

/** Maximum number of phases of a job, and maximum length of a shell command in bytes: what bash accepts as one argument, with a margin. */
const mostPhases = 100;
const longestCommand = 100_000;

/** The phases as the job was created with them. */
export function readPhases({ phases }: Pick<JobRow, 'phases'>): Phase[] {
  return JSON.parse(phases) as Phase[];
}

/** The error for an invalid job; the message names the phase and the field. */
function createJobError(message: string): ApiError {
  return new ApiError(400, 'InvalidJob', message);
}

/** @throws {ApiError} 400 `InvalidJob` for a job without phases, an empty command, or an invalid count, memory or disk */
export function checkPhases(phases: readonly Phase[]): void {
  if (phases.length === 0) throw createJobError('phases is empty: a job needs at least one phase');
  if (phases.length > mostPhases) throw createJobError(`phases has ${phases.length} phases: a job can have ${mostPhases}`);
  for (const [index, phase] of phases.entries()) checkPhase(phase, `phases[${index}]`);
}

function checkPhase({ type = 'map', exec, init, assets = [], count, memory, disk }: Phase, place: string): void {
  if (exec.trim() === '') throw createJobError(`${place}.exec is empty: it must be a shell command`);
  checkCommand(exec, `${place}.exec`);
  if (init !== undefined) checkCommand(init, `${place}.init`);
  if (count !== undefined && type === 'map') throw createJobError(`${place}.count is for reduce phases: remove it from the map phase`);
  if (count !== undefined && !isWhole(count, mostReducers))
    throw createJobError(`${place}.count is ${count}: it must be a whole number from 1 to ${mostReducers}`);
  if (memory !== undefined && !isWhole(memory)) throw createJobError(`${place}.memory is ${memory}: it must be a whole number of MB`);
  if (disk !== undefined && !isWhole(disk)) throw createJobError(`${place}.disk is ${disk}: it must be a whole number of GB`);
  const wrong = assets.findIndex((asset) => !asset.startsWith('/'));
  if (wrong !== -1)
    throw createJobError(`${place}.assets[${wrong}] is "${assets[wrong]}": it must be the path of an object, like /login/stor/name`);
}

function checkCommand(command: string, place: string): void {
  if (command.includes('\0')) throw createJobError(`${place} contains a NUL character`);
  const size = Buffer.byteLength(command);
  if (size > longestCommand)
    throw createJobError(`${place} has ${size} bytes: at most ${longestCommand}; put a longer script into an asset`);
}

function isWhole(value: number, most = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isInteger(value) && value >= 1 && value <= most;
}

/** Number of reducers; 0 for a map phase. */
export function countReducers({ type, count = 1 }: Pick<Phase, 'type' | 'count'>): number {
  return type === 'reduce' ? count : 0;
}
