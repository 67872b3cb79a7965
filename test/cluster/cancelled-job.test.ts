import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClusterJobs } from '../support/cluster-jobs.ts';
import { openGatewayHome, type GatewayHome } from '../support/gateway-process.ts';
import { runStatement } from '../support/postgres.ts';

/** A job that is cancelled while it has more tasks than one statement changes in time. */

const tasks = 6000;
let home: GatewayHome;
beforeAll(async () => {
  home = await openGatewayHome();
});
afterAll(() => home.remove());

/** A statement that changes more rows than this fails here, as one that takes too long fails. */
const limit = `
create function refuse_many() returns trigger language plpgsql as $$
begin
  if (select count(*) from changed) > 5000 then raise exception 'too many rows for one statement'; end if;
  return null;
end $$;
create trigger few_rows after update on job_tasks referencing new table as changed for each statement execute function refuse_many()`;

test('ends, however many there are', async () => {
  const gateway = await home.start('--http', '--no-jobs');
  const jobs = createClusterJobs(home, () => [gateway]);
  const id = await jobs.create([{ exec: 'sleep 1000' }]);
  const lines = Array.from({ length: tasks }, (_, at) => `/alice/stor/n${at}`);
  await jobs.feed(id, lines, 1000);
  await runStatement(home.url, limit);
  expect((await jobs.ask('POST', `/alice/jobs/${id}/live/cancel`)).status).toBe(202);
  // Now somebody ends it.
  await home.start('--http');
  await expect.poll(async () => (await jobs.state(id)).state).toBe('done');
  expect((await jobs.state(id)).stats).toMatchObject({ tasks, tasksDone: 0 });
});
