import { UsageError } from '../../base/errors.ts';
import type { ControlHandlers } from './listen.ts';

/** @throws {UsageError} always */
function refuse(): never {
  throw new UsageError('the service replays a recording: its state, clock and faults cannot be changed or copied', {
    hint: 'start services without --replay',
  });
}

/** The handlers of services that replay a recording, whose responses no change would affect: changes are refused. */
export function withoutChanges(handlers: ControlHandlers): ControlHandlers {
  return {
    ...handlers,
    clock: (input) => (Object.keys(input).length === 0 ? handlers.clock(input) : refuse()),
    addFault: refuse,
    snapshot: refuse,
    restore: refuse,
    reset: refuse,
    seed: refuse,
    copyState: refuse,
  };
}
