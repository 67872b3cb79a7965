/** The kinds of isolation of tasks from the rest of the machine, strongest first. */
export const isolationKinds = ['bubblewrap', 'namespaces', 'none'] as const;
export type IsolationKind = (typeof isolationKinds)[number];
