import type { Image } from '../../api/resources.ts';
import type { Context } from '../../cli/command.ts';
import { pollUntil } from '../../cli/wait.ts';
import { LocalError } from '../../base/errors.ts';

/** The error codes with which the creation of an image can end (compute document, "Image"), with meaning and advice. */
const failures: Readonly<Record<string, readonly [meaning: string, advice: string]>> = {
  PrepareImageDidNotRun: [
    'the instance could not be prepared: its guest tools are old, it took more than five minutes to boot, or the preparation script failed',
    'update the guest tools in the instance, check that it boots within five minutes, stop it and create the image again',
  ],
  VmHasNoOrigin: [
    'the origin image of the instance is unknown, as after a migration',
    'create a new instance from a current image, move the data to it and create the image from the new instance',
  ],
  NotSupported: [
    'the service cannot create an image from this kind of instance, for example from one that is based on a custom image',
    'create the instance from an image of the operator: cloud images list --public',
  ],
  InternalError: ['the service failed', 'try again; if it fails again, give the operator the id of the image'],
};

/** Returns an error that explains why the creation of an image failed. */
export function explainFailure({ id, name, version, error }: Image): LocalError {
  const code = error?.code ?? 'InternalError';
  const known = Object.hasOwn(failures, code) ? failures[code] : undefined;
  const [meaning, advice] = known ?? [error?.message ?? 'no reason was given', `cloud images get ${id}`];
  return new LocalError(`image ${name}@${version} (${id}) could not be created: ${meaning} (${code})`, { hint: advice });
}

/** The states from which an image can still get to a state that comes only early in its life. */
const earlier: ReadonlyMap<string, readonly string[]> = new Map([
  ['creating', []],
  ['unactivated', ['creating']],
  ['failed', ['creating']],
]);

function mayCome(wanted: string, current: string): boolean {
  return earlier.get(wanted)?.includes(current) ?? current !== 'failed';
}

/**
 * Waits until an image has one of `states`. @throws {LocalError} that explains the failure if the image has failed, and for an image that
 * can no longer have any of the states
 * @throws {WaitError} after `limit` milliseconds, an hour by default
 */
export async function waitForState(context: Context, image: Image, states: readonly string[], limit: number | undefined): Promise<Image> {
  let current = image;
  const what = `image ${image.name}@${image.version} is ${states.join(' or ')}`;
  const option = states.includes('active') ? '' : ` --state ${states.join(',')}`;
  const hint = `to wait longer: cloud images wait ${image.id}${option}`;
  await pollUntil(context, { what, limit: limit ?? 3_600_000, hint }, async () => {
    const isDecided = (): boolean => states.includes(current.state) || !states.some((state) => mayCome(state, current.state));
    if (isDecided()) return true;
    current = await context.compute.getImage({ account: context.account, id: image.id });
    return isDecided();
  });
  if (states.includes(current.state)) return current;
  if (current.state === 'failed') throw explainFailure(current);
  const { name, version, id, state } = current;
  throw new LocalError(`image ${name}@${version} (${id}) is ${state} and can no longer be ${states.join(' or ')}`, {
    hint: `cloud images get ${id}`,
  });
}
