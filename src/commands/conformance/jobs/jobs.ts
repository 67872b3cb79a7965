import { storage } from '../../../api/storage.ts';
import type { At } from '../at.ts';
import { section } from '../check.ts';
import { Skip } from '../outcome.ts';
import { linesOf, recordsOf } from '../response.ts';
import { makeHome, putText } from '../storage/directories.ts';
import { addInputs, createJob, makeInputs, makeJob, readErrors, readJob, readOutputs, runJob, waitForJob } from './steps.ts';

const copying = [{ exec: 'cat' }];

/** A finished job over two objects. */
async function makeDone(at: At): Promise<string> {
  return runJob(at, copying, await at.need(makeInputs));
}

/** A job whose tasks fail. */
async function makeFailed(at: At): Promise<string> {
  return runJob(at, [{ exec: 'exit 3' }], await at.need(makeInputs));
}

/** A job without inputs, whose input is open. */
async function makeOpen(at: At): Promise<string> {
  return makeJob(at, copying);
}

export const operations = section('jobs', '4 Jobs', {
  'create-job': {
    states: 'CreateJob returns 201 with an empty body and the job in Location, and is not idempotent',
    run: async (at) => {
      const [one, other] = [await makeJob(at, copying), await makeJob(at, copying)];
      at.assert(one !== other, 'the repeated request returned the same job');
      at.expect(await createJob(at, []), { status: [400, 409] });
    },
  },
  'add-inputs': {
    states: 'AddJobInputs returns 204, and inputs are processed as they arrive',
    operations: [storage.addJobInputs, storage.getJobOutput],
    run: async (at) => {
      const job = await makeJob(at, copying);
      const [first = ''] = await at.need(makeInputs);
      at.expect(await addInputs(at, job, [first]), { status: 204, empty: true });
      await at.until('an output of a job with open input', async () => {
        const lines = linesOf(at.expect(await at.storage('GET', `${job}/live/out`), { status: 200 }));
        return lines.length > 0 ? true : undefined;
      });
    },
  },
  'end-input': {
    states: 'EndJobInput returns 202 and closes the input: inputDone is true, and the job is done',
    run: async (at) => {
      const job = await makeJob(at, copying);
      at.expect(await at.storage('POST', `${job}/live/in/end`), { status: 202 });
      at.assert((await waitForJob(at, job))['inputDone'] === true, 'inputDone is not true');
    },
  },
  'cancel-job': {
    states: 'CancelJob returns 202, and cancelled is true once the job is cancelled',
    run: async (at) => {
      const job = await makeJob(at, copying);
      at.expect(await at.storage('POST', `${job}/live/cancel`), { status: 202 });
      await at.until('cancelled is true', async () => ((await readJob(at, job))['cancelled'] === true ? true : undefined));
    },
  },
  'list-jobs': {
    states: 'ListJobs returns 200 with a stream of records of the type directory, without Content-Length',
    reads: true,
    run: async (at) => {
      const response = await at.storage('GET', '~~/jobs');
      at.expect(response, { status: 200, headers: { 'content-type': /^application\/x-json-stream; ?type=directory$/u } });
      at.assert(response.headers['content-length'] === undefined, 'the response has a Content-Length');
      recordsOf(response);
    },
  },
  'list-running': {
    states: 'ListJobs with state=running lists only running jobs',
    run: async (at) => {
      const [open, done] = [await at.need(makeOpen), await at.need(makeDone)];
      const response = at.expect(await at.storage('GET', '~~/jobs', { query: { state: 'running' } }), { status: 200 });
      const names = recordsOf(response).map(({ name }) => name);
      at.assert(names.includes(open.split('/').at(-1)), 'a running job is not in the list');
      at.assert(!names.includes(done.split('/').at(-1)), 'a finished job is in the list');
    },
  },
  'get-job': {
    states: 'GetJob returns 204, as in the text, or 200 with the job, as in the example',
    run: async (at) => at.expect(await at.storage('GET', `${await at.need(makeOpen)}/live/status`), { status: [200, 204] }),
  },
  'job-output': {
    states: 'GetJobOutput returns 200 with the paths of the outputs and their number in Result-Set-Size',
    run: async (at) => {
      const response = await at.storage('GET', `${await at.need(makeDone)}/live/out`);
      at.expect(response, { status: 200, headers: { 'result-set-size': /^2$/u } });
      at.assert(linesOf(response).length === 2, `there are ${linesOf(response).length} outputs of two inputs`);
    },
  },
  'job-input': {
    states: 'GetJobInput returns 200 with the submitted paths, one a line',
    run: async (at) => {
      const response = at.expect(await at.storage('GET', `${await at.need(makeDone)}/live/in`), { status: 200 });
      const wanted = await at.need(makeInputs);
      at.assert(linesOf(response).sort().join() === wanted.join(), `the inputs are ${linesOf(response).join(' ')}`);
    },
  },
  'job-failures': {
    states: 'GetJobFailures returns 200 with the paths of failed inputs',
    run: async (at) => {
      const response = at.expect(await at.storage('GET', `${await at.need(makeFailed)}/live/fail`), { status: 200 });
      at.assert(linesOf(response).sort().join() === (await at.need(makeInputs)).join(), `the failures are ${linesOf(response).join(' ')}`);
    },
  },
  'job-errors': {
    states: 'GetJobErrors returns 200 with a stream of records of the type job-error',
    run: async (at) => {
      const response = await at.storage('GET', `${await at.need(makeFailed)}/live/err`);
      at.expect(response, { status: 200, headers: { 'content-type': /^application\/x-json-stream; ?type=job-error$/u } });
      at.assert(recordsOf(response).length === 2, `there are ${recordsOf(response).length} errors of two tasks`);
    },
  },
});

export const fields = section('jobs', '2 Job', {
  'job-fields': {
    states: 'A job has id, name, state, cancelled, inputDone, timeCreated and phases',
    operations: [storage.getJob],
    run: async (at) => {
      const path = await at.need(makeOpen);
      const job = await readJob(at, path);
      const { id, name, state, cancelled, inputDone, timeCreated, phases } = job;
      const isRight = id === path.split('/').at(-1) && name === at.run && cancelled === false && inputDone === false;
      if (state === 'queued') at.decide('a job that has not begun is queued');
      else at.assert(state === 'running', `the state is ${String(state)}`);
      at.assert(isRight && !Number.isNaN(Date.parse(String(timeCreated))) && Array.isArray(phases), JSON.stringify(job));
    },
  },
  'job-done': {
    states: 'A completed job has the state done and timeDone (section 3)',
    operations: [storage.getJob],
    run: async (at) => {
      const { state, timeDone } = await readJob(at, await at.need(makeDone));
      at.assert(state === 'done' && !Number.isNaN(Date.parse(String(timeDone))), `timeDone is ${String(timeDone)}`);
    },
  },
  map: {
    states: 'A phase without a type is map: its command runs once for each input, and its output is an object',
    operations: [storage.createJob],
    run: async (at) => {
      const outputs = await readOutputs(at, await at.need(makeDone));
      at.assert(outputs.join('') === 'line 1\nline 2\n', `the outputs are ${JSON.stringify(outputs)}`);
    },
  },
  reduce: {
    states: 'A reduce phase runs over the outputs of the phase before it, with one reducer by default (section 8)',
    operations: [storage.createJob],
    run: async (at) => {
      const job = await runJob(at, [...copying, { type: 'reduce', exec: 'sort' }], await at.need(makeInputs));
      at.assert((await readOutputs(at, job)).join() === 'line 1\nline 2\n', 'the output is not from one reducer over both inputs');
    },
  },
  'reduce-count': {
    states: 'count is the number of reducers',
    operations: [storage.createJob],
    run: async (at) => {
      const job = await runJob(at, [{ type: 'reduce', count: 2, exec: 'echo one; cat > /dev/null' }], await at.need(makeInputs));
      at.assert((await readOutputs(at, job)).join('') === 'one\none\n', 'two reducers did not write two outputs');
    },
  },
  init: {
    states: 'init runs in each compute zone before its tasks',
    operations: [storage.createJob],
    run: async (at) => {
      const [input = ''] = await at.need(makeInputs);
      const job = await runJob(at, [{ init: 'echo made > /tmp/conformance', exec: 'cat /tmp/conformance' }], [input]);
      at.assert((await readOutputs(at, job)).join() === 'made\n', 'the task does not find the file that init created');
    },
  },
  assets: {
    states: 'assets are placed in the compute zones',
    operations: [storage.createJob],
    run: async (at) => {
      const [input = ''] = await at.need(makeInputs);
      const asset = `${await at.need(makeHome)}/asset`;
      at.expect(await putText(at, asset, 'asset\n'), { status: 204 });
      const exec = `cat "\${MANTA_ASSETS:-/assets}${asset}"`;
      at.assert(
        (await readOutputs(at, await runJob(at, [{ assets: [asset], exec }], [input]))).join() === 'asset\n',
        'the asset is not there',
      );
    },
  },
});

export const errors = section('jobs', '2 Job error record', {
  'user-task-error': {
    states: 'A command that exits with a code other than 0 has the error UserTaskError (section 7)',
    operations: [storage.getJobErrors],
    run: async (at) => {
      const codes = (await readErrors(at, await at.need(makeFailed))).map(({ code }) => code);
      at.assert(codes.join() === 'UserTaskError,UserTaskError', `the codes are ${codes.join()}`);
    },
  },
  'error-fields': {
    states: 'An error has taskId, phaseNum (a number), what, code, message, server, machine and the input',
    operations: [storage.getJobErrors],
    run: async (at) => {
      const [error = {}] = await readErrors(at, await at.need(makeFailed));
      const texts = ['what', 'code', 'message', 'server', 'machine'].filter((name) => typeof error[name] !== 'string');
      at.assert(texts.length === 0, `${texts.join(', ')}: absent or not text`);
      if (error['taskId'] === undefined && error['id'] !== undefined) at.decide('records use the names id, phase and key of the samples');
      else {
        const isRight = typeof error['taskId'] === 'string' && typeof error['input'] === 'string';
        at.assert(isRight && Number(error['phaseNum']) === 0, JSON.stringify(error));
        if (typeof error['phaseNum'] === 'string') at.decide('phaseNum is a text');
      }
    },
  },
  'error-stderr': {
    states: 'stderr is the key of the standard error of a failed task, if there is any',
    operations: [storage.getJobErrors],
    run: async (at) => {
      const [input = ''] = await at.need(makeInputs);
      const job = await runJob(at, [{ exec: 'echo why >&2; exit 1' }], [input]);
      const [{ stderr } = {}] = await readErrors(at, job);
      if (typeof stderr !== 'string') throw new Skip('the record has no stderr, which is optional');
      at.expect(await at.storage('GET', stderr), { status: 200, body: 'why\n' });
    },
  },
  'task-init-error': {
    states: 'A task that cannot be initialised has the error TaskInitError (section 7)',
    operations: [storage.getJobErrors],
    run: async (at) => {
      const [input = ''] = await at.need(makeInputs);
      const [{ code } = {}] = await readErrors(at, await runJob(at, [{ init: 'exit 1', exec: 'cat' }], [input]));
      at.assert(code === 'TaskInitError', `the code is ${String(code)}`);
    },
  },
  'missing-input': {
    states: 'An input that does not exist has an error with the code EJ_NOENT (section 7)',
    operations: [storage.getJobErrors],
    run: async (at) => {
      const [{ code } = {}] = await readErrors(at, await runJob(at, copying, [`${await at.need(makeHome)}/nothing`]));
      if (code === 'ResourceNotFoundError') at.decide('the code is ResourceNotFoundError');
      else at.assert(code === 'EJ_NOENT', `the code is ${String(code)}`);
    },
  },
});
