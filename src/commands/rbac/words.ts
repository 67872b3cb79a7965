/** Help texts that commands on documents share. */
export const fileHelp = 'Document written by cloud rbac export; - for stdin';
export const pruneHelp = 'Also delete entries that are not in the document';
