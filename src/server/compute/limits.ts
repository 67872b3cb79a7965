import type { compute } from '../../api/compute.ts';
import type { Limit } from '../../api/resources.ts';
import type { Handler } from '../http/handler.ts';
import type { LimitRow, MachineRow } from '../store/compute-schema.ts';

type Machine = Pick<MachineRow, 'memory' | 'disk' | 'os'> & { image: string | null };

/** True if a limit applies to an instance. */
function covers(limit: LimitRow, { os, image }: Machine): boolean {
  if (limit.check === 'os') return os === limit.os;
  return limit.check !== 'image' || image === limit.image;
}

/** Usage of a limit by instances, in its unit: MiB of memory, GiB of disk, or number of instances. */
function measure({ by }: LimitRow, machines: readonly Machine[]): number {
  const sum = (size: (machine: Machine) => number): number => machines.reduce((total, machine) => total + size(machine), 0);
  if (by === 'machines') return machines.length;
  return by === 'ram' ? sum(({ memory }) => memory) : Math.ceil(sum(({ disk }) => disk) / 1024);
}

function showLimit(limit: LimitRow, machines: readonly Machine[]): Limit {
  const { by, value, check, os, image } = limit;
  const used = measure(
    limit,
    machines.filter((machine) => covers(limit, machine)),
  );
  return { by, value, used, ...(check !== null && { check }), ...(os !== null && { os }), ...(image !== null && { image }) };
}

/** GetAccountLimits: empty if the operator has not enabled the plug-in. */
export const getAccountLimits: Handler<typeof compute.getAccountLimits> = async (_, { account, store, settings }) => {
  if (settings.limits !== true) return [];
  const limits = await store.db.selectFrom('limits').selectAll().where('account', '=', account.id).execute();
  const machines = await store.db
    .selectFrom('machines')
    .leftJoin('images', 'images.id', 'machines.image')
    .select(['machines.memory', 'machines.disk', 'machines.os', 'images.name as image'])
    .where('machines.account', '=', account.id)
    .execute();
  return limits.map((limit) => showLimit(limit, machines));
};
