/** Help texts that commands on documents share. */
export const fileHelp = 'Document as cloud rbac export writes it; - for stdin';
export const pruneHelp = 'Also delete what the parts of the document do not mention';
