import type { Checks } from '../check.ts';
import { errors, fields, operations } from './jobs.ts';

/** The checks of jobs, in the order of the document of the object storage. */
export const jobChecks: Checks = [...fields, ...errors, ...operations];
