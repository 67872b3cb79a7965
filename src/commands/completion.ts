import { group } from '../cli/command.ts';

export const completion = group({ summary: 'Completion for bash, zsh and fish', commands: {} });
