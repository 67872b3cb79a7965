/**
 * Action words of earlier policies that name no operation, with the operations that they granted. A word that names an operation grants
 * only that operation (compute specification, section 2).
 */
const formerWords: ReadonlyMap<string, readonly string[]> = new Map([
  ['managejob', ['addjobinputs', 'endjobinput', 'canceljob', 'getjobinput', 'getjoboutput', 'getjobfailures', 'getjoberrors']],
  ['getdirectory', ['listdirectory']],
  ['putlink', ['putsnaplink']],
  ['getprovisioninglimits', ['getaccountlimits']],
]);

/** The actions that an earlier word grants; undefined for any other word. */
export function findFormerWord(word: string): readonly string[] | undefined {
  return formerWords.get(word);
}
