import { operator } from '../seed/operator.ts';
import { emptyImage } from '../store/empty-image.ts';
import type { ImageRow } from '../store/schema.ts';

/** Name of the second, built-in datacenter, from which images can be imported. */
export function nameSecond(datacenter: string): string {
  return `${datacenter}-2`;
}

type Sample = readonly [number: number, name: string, version: string, origin: number | null, state: string, published: string];

/** An image with two origins, and one whose origin is not active. */
const samples: readonly Sample[] = [
  [1, 'inventory-base', '1.0.0', null, 'active', '2025-02-03T08:00:00.000Z'],
  [2, 'inventory-libs', '1.1.0', 1, 'active', '2025-03-04T09:00:00.000Z'],
  [3, 'inventory', '2.0.0', 2, 'active', '2025-04-05T10:00:00.000Z'],
  [4, 'billing-base', '1.0.0', null, 'disabled', '2025-05-06T11:00:00.000Z'],
  [5, 'billing', '3.0.0', 4, 'active', '2025-06-07T12:00:00.000Z'],
];

/** An image of the operator, which nobody else can import. */
const foreign: Sample = [6, 'base-64', '25.4.0', null, 'active', '2025-07-08T13:00:00.000Z'];

function idOf(number: number): string {
  return `b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e000${number}`;
}

function makeImage([number, name, version, origin, state, published]: Sample, owner: string): ImageRow {
  return {
    ...emptyImage,
    id: idOf(number),
    name,
    version,
    os: 'smartos',
    type: 'zone-dataset',
    owner,
    public: owner === operator ? 1 : 0,
    state,
    published_at: Date.parse(published),
    description: `A sample of the second datacenter.`,
    origin: origin === null ? null : idOf(origin),
  };
}

/** Images of the second datacenter that an account sees there: its own and the operator's. */
export function listSecondImages(account: string): ImageRow[] {
  return [...samples.map((sample) => makeImage(sample, account)), makeImage(foreign, operator)];
}
