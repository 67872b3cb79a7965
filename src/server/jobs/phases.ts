import type { Phase } from '../../api/objects.ts';
import { ApiError } from '../../base/errors.ts';

/** Most reducers of a phase. */
const mostReducers = 128;

/** Most phases of a job, and most bytes of a shell command: what bash takes as one argument, with some room. */
const mostPhases = 100;
const longestCommand = 100_000;

/** The error for a job that cannot be: it names the phase and the field. */
export function refuseJob(message: string): ApiError {
  return new ApiError(400, 'InvalidJob', message);
}

/** @throws 400 `InvalidJob` for no phases, an empty command, a count, memory or disk that cannot be. */
export function checkPhases(phases: readonly Phase[]): void {
  if (phases.length === 0) throw refuseJob('phases is empty: a job needs at least one phase');
  if (phases.length > mostPhases) throw refuseJob(`phases has ${phases.length} phases: a job can have ${mostPhases}`);
  for (const [index, phase] of phases.entries()) checkPhase(phase, `phases[${index}]`);
}

function checkPhase({ type = 'map', exec, init, assets = [], count, memory, disk }: Phase, place: string): void {
  if (exec.trim() === '') throw refuseJob(`${place}.exec is empty: it must be a shell command`);
  checkCommand(exec, `${place}.exec`);
  if (init !== undefined) checkCommand(init, `${place}.init`);
  if (count !== undefined && type === 'map') throw refuseJob(`${place}.count is for reduce phases: leave it out of a map`);
  if (count !== undefined && !isWhole(count, mostReducers))
    throw refuseJob(`${place}.count is ${count}: it must be a whole number from 1 to ${mostReducers}`);
  if (memory !== undefined && !isWhole(memory)) throw refuseJob(`${place}.memory is ${memory}: it must be a whole number of MB`);
  if (disk !== undefined && !isWhole(disk)) throw refuseJob(`${place}.disk is ${disk}: it must be a whole number of GB`);
  const wrong = assets.findIndex((asset) => !asset.startsWith('/'));
  if (wrong !== -1)
    throw refuseJob(`${place}.assets[${wrong}] is "${assets[wrong]}": it must be the path of an object, like /login/stor/name`);
}

function checkCommand(command: string, place: string): void {
  if (command.includes('\0')) throw refuseJob(`${place} has a NUL character`);
  const size = Buffer.byteLength(command);
  if (size > longestCommand) throw refuseJob(`${place} has ${size} bytes: at most ${longestCommand}; put a longer script into an asset`);
}

function isWhole(value: number, most = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isInteger(value) && value >= 1 && value <= most;
}

/** Number of reducers; 0 for a map phase. */
export function countReducers({ type, count = 1 }: Phase): number {
  return type === 'reduce' ? count : 0;
}
