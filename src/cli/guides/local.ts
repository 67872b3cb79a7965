import { serviceLimits, writeLimitName, type LimitName, type ServiceLimit } from '../../api/service-limits.ts';
import type { Guide } from './guide.ts';

/** All limits with their defaults, in the form that `--limit` accepts. */
const limitTerms = Object.entries<ServiceLimit>(serviceLimits).map(([name, { default: value, help }]): [string, string] => [
  `${writeLimitName(name as LimitName)}=${value === Infinity ? 'N' : value}`,
  value === Infinity ? `${help}; any number by default.` : `${help}.`,
]);

/** The services on this machine. */
export const local: Guide = {
  page: 'cloud-local',
  topic: 'local-service',
  summary: 'both services on this machine, for trying and testing',
  sections: [
    {
      title: 'Description',
      blocks: [
        'The program carries an implementation of both services. It checks signatures, dates and versions as the real services do, speaks TLS under an authority of its own, and keeps its data in a database and files: what was acknowledged survives a crash.',
        { lines: ['cloud local start', 'cloud images list', 'cloud local status', 'cloud local stop'] },
        'The first start makes the account `demo` with an RSA key, sample images, packages, datacenters and directories, and the profile `local`, which becomes the current one when there was none.',
      ],
    },
    {
      title: 'In tests',
      blocks: [
        '`cloud local run` gives a program services of its own: fresh data, free ports, and the environment by which it reaches them. When it ends, nothing is left. Test suites may run side by side: `cloud help testing`.',
        { lines: ['cloud local run -- npm test', 'cloud local run --fault getobject=InternalError*2 --log requests.log -- ./check'] },
        'A service that goes on takes a folder of its own and free ports to be apart from every other. The JSON tells where it is.',
        {
          lines: [
            'cloud local start --data ./data --profile test --compute-port 0 --stor-port 0 -j > service.json',
            'jq -r .computeUrl service.json',
            'cloud --profile test keys list',
            'cloud local stop --data ./data',
          ],
        },
        '`cloud local serve` is the same in the foreground, with logs on standard error; SIGTERM ends it when the requests under way are done. Programs that do not use profiles get what they need from `cloud env`, and the authority to trust from the field `caFile`.',
      ],
    },
    {
      title: 'Snapshots and forks',
      blocks: [
        '`cloud local snapshot create` keeps all that the services hold at one moment, while they run or at rest: accounts, keys, users, images, jobs and objects. `cloud local fork` starts another service with the same state on other ports, or with that of a snapshot; `cloud local run --snapshot` gives a program one of its own. Contents of objects are shared by hard links: a copy takes the room of the database and of the names of files, and the time for that. Where the disk is another one, they are copied.',
        {
          lines: [
            'cloud local snapshot create ready',
            'cloud local snapshot restore ready',
            'cloud local fork --snapshot ready --profile trial',
            'cloud --profile trial stor ls',
          ],
        },
        '`cloud local snapshot restore` gives the services back what a snapshot holds, and `cloud local reset` what their first start made, while they run: requests wait for it, and connections, addresses, keys, clock and faults stay. Snapshots are in the data directory, and outlive a reset of services that run.',
        'A fork knows the accounts and keys of its origin and answers under the same authority, in a folder of its own, below `forks` beside the usual data unless `--to` names one. Neither sees what the other does afterwards, and each survives the other. It is a service as any other: `cloud local stop`, `status` and `reset` take its folder as `--data`.',
      ],
    },
    {
      title: 'Failures on command',
      blocks: [
        'Options of `start`, `serve` and `run` cause the failures that clients must handle:',
        {
          terms: [
            [
              '--fault createkey=InternalError*2',
              'The next two requests of this operation fail so; `getimage=503:Down` names status and code.',
            ],
            [
              '--fault getjob=204,getmultipartupload=204',
              'These succeed without a record, as the text of the specification also has it; its example, and the service unless told, answer 200 with one.',
            ],
            ['--throttle 10/s', 'More compute requests a second are answered with 420.'],
            ['--latency 200', 'Every response waits so many milliseconds.'],
            [
              '--staleness 3000',
              'Reads show users, roles and policies as they were so many milliseconds ago; commands with `--wait` stand it.',
            ],
            ['--http', 'Without TLS, for clients that cannot be told an authority.'],
          ],
        },
      ],
    },
    {
      title: 'Failures while it runs',
      blocks: [
        '`cloud local faults` adds and ends failures of a service that runs, for an operation, a path, an account, so many times, or for some requests chosen by a seed, so that the same ones fail each time. A request that hangs goes on when its fault is cleared.',
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
            ['503, InternalError, 503:Busy', 'The request is refused so, and nothing is done.'],
            ['throttle', '420 of the compute service, 429 of the object storage.'],
            ['close', 'The connection is closed without a response, and nothing is done.'],
            ['latency:2s', 'The response is late.'],
            ['cut, stall', 'The body of the response breaks off, or stops to come, after half of it; after so many bytes: `cut:64K`.'],
            ['cut-upload, stall-upload', 'The same of the body of the request: the service closes the connection, or reads no further.'],
            ['stale:3s', 'Reads of users, roles and policies do not show changes of the last 3 seconds that were made since the rule.'],
            ['wrong-md5', 'Headers with an MD5 have a wrong one.'],
          ],
        },
        'Only requests that are allowed fail so; what a signature or a rule refuses is refused as ever.',
      ],
    },
    {
      title: 'What programs sent',
      blocks: [
        'The latest 1000 requests of a service that runs can be listed, with the reasons that a service does not tell its clients: which text should have been signed by which key, which rule or role tag was missing. The field `curl` is a line that repeats the request.',
        { lines: ['cloud local requests --failed', 'cloud local requests --failed -j --jq ".[-1].curl"'] },
      ],
    },
    {
      title: 'The clock',
      blocks: [
        'What depends on the time is tested without waiting: the clock of a service that runs can be set.',
        {
          lines: [
            'cloud local clock advance 10m',
            'cloud local clock set 2027-02-28T23:59:50Z',
            'cloud local clock skew 10m',
            'cloud local clock reset',
          ],
        },
        'Timestamps, signed URLs, the making of images, uploads that nobody ends (`--limit upload-days=N`), jobs that are done (`--limit job-days=N`), rules with `requesttime` and reads that lag follow it. Clients go on unchanged: the dates of requests, and of responses, are those of this machine, unless `skew` moves that check. Durations, such as time limits of jobs, are real.',
        'These commands reach the service by a socket in its data directory (`control/socket`, for its user alone), whose requests are `POST /NAME` with JSON: `curl --unix-socket DIR/control/socket -d \'{"advance":600000}\' http://local/clock`. `--data` or `CLOUD_LOCAL_DATA` names the directory; a program that `cloud local run` starts has the variable.',
      ],
    },
    {
      title: 'Several accounts',
      blocks: [
        'Accounts share nothing but what they give each other by roles and access lists. `--add-account` makes further ones, each with a key and a profile of its own, so that this can be tried:',
        {
          lines: [
            'cloud local start --add-account other',
            'cloud stor put notes.txt notes.txt',
            'cloud --profile local-other stor get /demo/stor/notes.txt',
          ],
        },
        'The last line is refused until a role of `demo` with a policy like `CAN getobject *` has `other` as a member: `cloud roles create readers --policy read --default-member account:other`.',
      ],
    },
    {
      title: 'Limits',
      blocks: [
        'A request that would exceed a limit of the services is refused with a status of 4xx and a message that names the limit; the log has a line about it. `--limit NAME=N` sets one, also several with commas between. The defaults:',
        { terms: limitTerms },
      ],
    },
    {
      title: 'Instances to make images of',
      blocks: [
        'There are instances, stopped and prepared, that have the same ids everywhere. From some no image can be made: the making ends in the error that the name says.',
        { lines: ['cloud images create 6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001 web 1.0.0 --wait'] },
        {
          terms: [
            ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001', 'web-1, of base-64'],
            ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0002', 'db-1, of debian-12'],
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
        'It listens on this machine only, unless `--host` says otherwise. Jobs run shell commands of whoever may create them: where others can reach the service they are off, unless `--allow-jobs` is given. As many tasks run at once as there are cores (`--job-slots`), each for an hour at most (`--job-time-limit`).',
        'Tasks run in a sandbox: they see programs, their input, their directory and the assets of their phase, no other file, no network and no other process. It is made by bubblewrap where that is installed, otherwise of Linux namespaces; `cloud local status` shows which. Where neither can be made (macOS, many containers), jobs are refused with the reason; `--isolation none`, or `CLOUD_LOCAL_ISOLATION=none` in the environment, lets tasks run as your user, with your files and your network.',
      ],
    },
  ],
};
