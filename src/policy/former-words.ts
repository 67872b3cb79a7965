/**
 * Action words of existing policies that are no operation's name, and the operations that they granted. A word that names an operation grants
 * that operation alone (compute specification, section 2).
 */
const formerWords: ReadonlyMap<string, readonly string[]> = new Map([
  ['managejob', ['addjobinputs', 'endjobinput', 'canceljob', 'getjobinput', 'getjoboutput', 'getjobfailures', 'getjoberrors']],
  ['getdirectory', ['listdirectory']],
  ['putlink', ['putsnaplink']],
  ['getprovisioninglimits', ['getaccountlimits']],
]);

/** The actions that such a word grants; undefined for any other word. */
export function findFormerWord(word: string): readonly string[] | undefined {
  return formerWords.get(word);
}
