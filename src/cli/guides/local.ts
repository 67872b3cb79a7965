import { serviceLimits, writeLimitName, type LimitName, type ServiceLimit } from '../../api/service-limits.ts';
import type { Guide } from './guide.ts';

/** All limits with their defaults, in the form that `--limit` accepts. */
const limitTerms = Object.entries<ServiceLimit>(serviceLimits).map(([name, { default: value, help }]): [string, string] => [
  `${writeLimitName(name as LimitName)}=${value === Infinity ? 'N' : value}`,
  value === Infinity ? `${help}; unlimited by default.` : `${help}.`,
]);

/** The services on this machine. */
export const local: Guide = {
  page: 'cloud-local',
  topic: 'local-service',
  summary: 'both services on this machine, for trials and tests',
  sections: [
    {
      title: 'Description',
      blocks: [
        'The program includes an implementation of both services. It checks signatures, dates and versions as the real services do, uses TLS with its own certificate authority, and stores its data in a database and files. Acknowledged changes survive a crash.',
        { lines: ['cloud local start', 'cloud images list', 'cloud local status', 'cloud local stop'] },
        'The first start creates the account `demo` with an RSA key, sample images, packages, datacenters and directories, and the profile `local`, which becomes the current profile if there was none.',
      ],
    },
    {
      title: 'In tests',
      blocks: [
        '`cloud local run` starts separate services for a program: fresh data, free ports, and the environment variables to reach them. It removes everything when the program ends. Test suites can run in parallel: `cloud help testing`.',
        { lines: ['cloud local run -- npm test', 'cloud local run --fault getobject=InternalError*2 --log requests.log -- ./check'] },
        'To run a separate service that keeps running, give it its own folder and free ports. The JSON output shows its addresses.',
        {
          lines: [
            'cloud local start --data ./data --profile test --compute-port 0 --stor-port 0 -j > service.json',
            'jq -r .computeUrl service.json',
            'cloud --profile test keys list',
            'cloud local stop --data ./data',
          ],
        },
        '`cloud local serve` does the same in the foreground, with logs on standard error. On SIGTERM it finishes the requests in progress and exits. Programs that do not use profiles get their settings from `cloud env`, and the certificate authority to trust from the field `caFile`.',
      ],
    },
    {
      title: 'Snapshots and forks',
      blocks: [
        '`cloud local snapshot create` saves the state of the services, running or stopped, at one point in time: accounts, keys, users, images, jobs and objects. `cloud local fork` starts another service on other ports with the same state, or with the state of a snapshot. `cloud local run --snapshot` starts one for a program. Object contents are shared by hard links, so a copy takes only the space and time for the database and the file names. On another disk, contents are copied.',
        {
          lines: [
            'cloud local snapshot create ready',
            'cloud local snapshot restore ready',
            'cloud local fork --snapshot ready --profile trial',
            'cloud --profile trial stor ls',
          ],
        },
        '`cloud local snapshot restore` restores a snapshot, also if the database was damaged or lost, and `cloud local reset` the state after the first start. Both work while the services run: requests wait, and connections, addresses, keys, clock and faults stay. Snapshots are in the data directory, and survive a reset of running services.',
        'A fork has the accounts, keys and certificate authority of the original. Its folder is below `forks` beside the default data directory unless `--to` names another. Later changes of one do not affect the other, and each can be removed without the other. `cloud local stop`, `status` and `reset` take the folder of the fork as `--data`.',
      ],
    },
    {
      title: 'Inject failures at the start',
      blocks: [
        'Options of `start`, `serve` and `run` cause the failures that clients must handle:',
        {
          terms: [
            [
              '--fault createkey=InternalError*2',
              'The next two requests of this operation fail with this error; `getimage=503:Down` sets status and code.',
            ],
            [
              '--fault getjob=204,getmultipartupload=204',
              'These operations succeed without a body, as the text of the specification describes. By default the service responds 200 with the record, as the example in the specification shows.',
            ],
            ['--throttle 10/s', 'The compute service responds with 420 above this rate.'],
            ['--latency 200', 'Every response is delayed by this many milliseconds.'],
            [
              '--staleness 3000',
              'Reads show users, roles and policies as they were this many milliseconds ago; commands with `--wait` handle it.',
            ],
            ['--http', 'Without TLS, for clients that cannot trust another certificate authority.'],
          ],
        },
      ],
    },
    {
      title: 'Inject failures into a running service',
      blocks: [
        '`cloud local faults` adds and removes failures of a running service: for an operation, a path or an account, a number of times, or for a fraction of the requests. The fraction is chosen by a seed, so that the same requests fail in each run. A stalled request continues when its fault is cleared.',
        {
          lines: [
            'cloud local faults add getobject 503 --count 1',
            "cloud local faults add putobject stall-upload:1M --path '*/backups/*'",
            "cloud local faults add '*' close --rate 0.1 --seed 7",
            'cloud local faults list',
            'cloud local faults clear',
          ],
        },
        {
          terms: [
            ['503, InternalError, 503:Busy', 'The request fails with this error; nothing is changed.'],
            ['throttle', '420 from the compute service, 429 from the object storage.'],
            ['close', 'The connection is closed without a response; nothing is changed.'],
            ['latency:2s', 'The response is delayed.'],
            ['cut, stall', 'The response body ends early, or stalls, after half of it; `cut:64K` sets the number of bytes.'],
            ['cut-upload, stall-upload', 'The same for the request body: the service closes the connection, or stops reading.'],
            [
              'stale:3s',
              'Reads of users, roles and policies do not show changes of the last 3 seconds that were made after the fault was added.',
            ],
            ['wrong-md5', 'Headers with an MD5 contain a wrong one.'],
          ],
        },
        'Faults apply only to authorised requests; requests with a wrong signature or without permission are rejected as usual.',
      ],
    },
    {
      title: 'Inspect requests',
      blocks: [
        '`cloud local requests` lists the latest 1000 requests of a running service, with details that the services do not tell clients: the text that should have been signed and the key, and the missing rule or role tag. The field `curl` is a command that repeats the request.',
        { lines: ['cloud local requests --failed', 'cloud local requests --failed -j --jq ".[-1].curl"'] },
      ],
    },
    {
      title: 'The clock',
      blocks: [
        'Set the clock of a running service to test time-dependent behaviour without waiting.',
        {
          lines: [
            'cloud local clock advance 10m',
            'cloud local clock set 2027-02-28T23:59:50Z',
            'cloud local clock skew 10m',
            'cloud local clock reset',
          ],
        },
        'The clock applies to timestamps, signed URLs, image creation, unfinished and finished uploads (`--limit upload-days=N`, `finished-upload-days=N`), finished jobs (`--limit job-days=N`), rules with `requesttime` and delayed reads. Clients need no change: the `Date` headers of requests and responses follow the clock of this machine, unless `skew` shifts that check. Durations, such as time limits of jobs, are real.',
        'These commands use a socket in the data directory (`control/socket`, accessible only to its user). Its requests are `POST /NAME` with JSON: `curl --unix-socket DIR/control/socket -d \'{"advance":600000}\' http://local/clock`. `--data` or `CLOUD_LOCAL_DATA` sets the directory; `cloud local run` sets the variable for its program.',
      ],
    },
    {
      title: 'Several accounts',
      blocks: [
        'Accounts share only what they grant each other through roles and role tags. To try this, `--add-account` creates more accounts, each with its own key and profile:',
        {
          lines: [
            'cloud local start --add-account other',
            'cloud stor put notes.txt notes.txt',
            'cloud --profile local-other stor get /demo/stor/notes.txt',
          ],
        },
        'The last command fails until `other` is a member of a role of `demo` with a policy like `CAN getobject *`: `cloud roles create readers --policy read --default-member account:other`.',
      ],
    },
    {
      title: 'Limits',
      blocks: [
        'A request that would exceed a limit fails with a 4xx status and a message that names the limit; the log has a line about it. `--limit NAME=N` sets a limit; separate several with commas. The defaults:',
        { terms: limitTerms },
      ],
    },
    {
      title: 'Instances for images',
      blocks: [
        'The service has prepared, stopped instances with fixed ids. Creating an image of an instance named `fails-CODE` fails with the error CODE.',
        { lines: ['cloud images create 6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001 web 1.0.0 --wait'] },
        {
          terms: [
            ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001', 'web-1, from base-64'],
            ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0002', 'db-1, from debian-12'],
            ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0003', 'fails-PrepareImageDidNotRun'],
            ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0004', 'fails-VmHasNoOrigin'],
            ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0005', 'fails-NotSupported'],
            ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0006', 'fails-InternalError'],
            ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0007', 'fails-InsufficientServerVersionError'],
            ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0008', 'fails-NotAvailable'],
          ],
        },
      ],
    },
    {
      title: 'Safety',
      blocks: [
        'The service listens on this machine only, unless `--host` is given. Jobs run shell commands of any user who may create jobs. So jobs are off when other machines can reach the service, unless `--allow-jobs` is given. As many tasks run concurrently as there are cores (`--job-slots`), each for at most an hour (`--job-time-limit`).',
        'Tasks run in a sandbox. They see programs, their input, their directory and the assets of their phase; they have no access to other files, the network or other processes. The sandbox uses bubblewrap if it is installed, otherwise Linux namespaces; `cloud local status` shows which. Where neither works (macOS, many containers), jobs are rejected with the reason. `--isolation none`, or `CLOUD_LOCAL_ISOLATION=none` in the environment, runs tasks as your user, with your files and your network.',
      ],
    },
  ],
};
