import { group } from '../cli/command.ts';
import { logs, reset, seed, status } from './local/data.ts';
import { serve, start, stop } from './local/service.ts';
import { tour } from './local/tour.ts';

export const local = group({
  summary: 'Both services on this machine, for trying and testing',
  description: 'They need nothing else installed, check signatures as the real ones do, and keep their data in a folder of yours.',
  commands: { start, stop, status, serve, try: tour, logs, seed, reset },
});
