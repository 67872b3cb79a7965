import { compute } from '../api/compute.ts';
import { storage } from '../api/storage.ts';

/** Actions on instances, firewall rules and networks, for endpoints that policies name and the compute document does not describe. */
const instanceActions = [
  'listmachines',
  'getmachine',
  'createmachine',
  'startmachine',
  'stopmachine',
  'rebootmachine',
  'renamemachine',
  'resizemachine',
  'deletemachine',
  'machineaudit',
  'enablemachinefirewall',
  'disablemachinefirewall',
  'listmachinefirewallrules',
  'listmachinesnapshots',
  'getmachinesnapshot',
  'createmachinesnapshot',
  'startmachinefromsnapshot',
  'deletemachinesnapshot',
  'listmachinemetadata',
  'getmachinemetadata',
  'updatemachinemetadata',
  'deletemachinemetadata',
  'deleteallmachinemetadata',
  'listmachinetags',
  'getmachinetag',
  'addmachinetags',
  'replacemachinetags',
  'deletemachinetag',
  'deletemachinetags',
  'listfirewallrules',
  'getfirewallrule',
  'createfirewallrule',
  'updatefirewallrule',
  'deletefirewallrule',
  'enablefirewallrule',
  'disablefirewallrule',
  'listfirewallrulemachines',
  'listnetworks',
  'getnetwork',
];

/** Names of our actions in other vocabularies of this language. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['setroletag', 'setroletags'],
  ['listinstances', 'listmachines'],
  ['getinstance', 'getmachine'],
]);

/** The action that another vocabulary calls `word`, in any case. */
export function findOtherName(word: string): string | undefined {
  return otherNames.get(word.toLowerCase());
}

/** Every known action: the operations of both services in lower case, and `instanceActions`. */
export function knownActions(): Set<string> {
  const declared = [...Object.values(compute), ...Object.values(storage)].map((operation) => operation.action);
  return new Set([...declared, ...instanceActions]);
}
