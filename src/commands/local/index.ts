import { group } from '../../cli/command.ts';
import { clock } from './clock.ts';
import { faults } from './faults.ts';
import { fork } from './fork.ts';
import { logs, reset, status } from './data.ts';
import { record } from './record.ts';
import { requests } from './requests.ts';
import { run } from './run.ts';
import { seed } from './seed.ts';
import { serve } from './service.ts';
import { snapshot } from './snapshot.ts';
import { start } from './start.ts';
import { stop } from './stop.ts';
import { tour } from './tour.ts';

export const local = group({
  summary: 'Run both services on this machine, for trials and tests',
  description:
    'The services need no other software, check signatures as the real services do, and store their data in a folder of your own.',
  commands: { start, stop, status, run, serve, try: tour, logs, seed, reset, snapshot, fork, clock, faults, requests, record },
});
