import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { cluster } from '../../src/cli/guides/cluster.ts';
import { testing } from '../../src/cli/guides/testing.ts';
import type { AnyCommand, Group } from '../../src/cli/command.ts';
import { server } from '../../src/commands/server/index.ts';

/** What the examples of each noun and guide need to be there: lines of bash before all of them, and before some. */
export interface Story {
  readonly prepare?: string;
  readonly before?: Readonly<Record<string, string>>;
  /** How another shell than bash is started for an example. */
  readonly shells?: Readonly<Record<string, string>>;
  /** What is typed at which question; else a yes. */
  readonly answers?: Readonly<Record<string, readonly (readonly [RegExp, string])[]>>;
  /** Words in examples that stand for something that is known only now: what to put in their place, as bash finds it. */
  readonly words?: readonly (readonly [RegExp, string])[];
  /** Examples that cannot be run beside other tests, and why. */
  readonly left?: Readonly<Record<string, string>>;
}

const keyFiles = `
mkdir -p .ssh; for f in .ssh/id_rsa work.pem alice.pem; do ssh-keygen -q -t rsa -b 2048 -m PEM -N '' -f $f; done; cp alice.pem.pub alice.pub`;
const users = `
for u in alice bob; do echo Passw0rd-1 | cloud users create $u --email $u@example.com --password-stdin -q > /dev/null; done`;
const access = `${users}
cloud policies create read-images --rule 'CAN listimages' -q > /dev/null
cloud policies create read-keys --rule 'CAN listkeys AND getkey' -q > /dev/null
for r in dev ops; do cloud roles create $r --default-member alice --policy read-images -q > /dev/null; done`;
const web = 'cloud images create 6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001 web 1.0.0 --wait -q > /dev/null';
const logs = `
cloud stor mkdir -q -p logs photos docs backups builds inbox reports a b archive
for f in logs/a logs/2024-01; do echo some text | gzip | cloud stor put -q - $f.gz; done
for f in logs/a.txt logs/b.txt logs/x.tmp logs/2023-1 notes.txt draft.txt report.pdf builds/42.tgz photos/1.jpg photos/2.jpg a/x b/x; do echo ERROR here | cloud stor put -q - $f; done
mkdir -p src site; for f in report.pdf src/x site/x.html; do echo text > $f; done; cloud stor get -q -r photos photos`;
const job = `cloud jobs create --name count --map 'wc -l' --reduce 'sort -n' -q -o name > job`;
const done = `${job}; cloud jobs add -q $(cat job) 'logs/*.txt' --end`;
const failing = `cloud jobs create --name count --map 'echo odd >&2; exit 1' -q -o name > job; cloud jobs add -q $(cat job) 'logs/*.txt' --end`;
const upload = 'cloud mpu create backups/disk.img -q -o name > upload';
/** What programs run with services of their own. */
const programs = `printf '{"scripts":{"test":"cloud stor ls"}}' > package.json; printf '#!/bin/sh\\ncloud stor ls\\n' > check; chmod +x check; echo text > README.md`;
const profiles = `cp .config/cloud/profiles/local.json work.json; for p in work old older; do cp work.json .config/cloud/profiles/$p.json; done`;

/** The files of the guide to tests, as it shows them. */
const suites = ['check.sh', 'report.test.mjs', 'test_report.py', 'report_test.go']
  .map((name) => {
    const shown = testing.sections.find(({ blocks }) => blocks.some((block) => typeof block === 'string' && block.includes(`\`${name}\``)));
    const [lines = []] = (shown?.blocks ?? []).flatMap((block) => (typeof block === 'object' && 'lines' in block ? [block.lines] : []));
    return `cat > ${name} <<'END'\n${lines.join('\n')}\nEND`;
  })
  .join('\n');
/** Whether a program is there that runs tests in another language. */
const runs = (program: string, ...words: string[]): boolean => spawnSync(program, words).status === 0;

const needsOther = 'an image that another account shares; test/contract/compute/image-copies.test.ts has one';
const portReason = 'the usual ports may be in use';
/** Forks go on when their example has been run. */
const stopForks = `trap 'for data in .local/share/cloud/forks/*; do cloud local stop -q --data $data; done' EXIT`;
/** A cloud that a recording is made of. */
const stand =
  'cloud local start -q --compute-port 0 --stor-port 0 > /dev/null; cp .config/cloud/profiles/local.json .config/cloud/profiles/lab.json';
const serveReason = 'it runs until it is ended; test/e2e/local.test.ts does that';

const databaseReason = 'it needs PostgreSQL; the tests in test/cluster do that';

function listExamples(node: AnyCommand | Group): string[] {
  return node.kind === 'group' ? Object.values(node.commands).flatMap(listExamples) : node.examples.map(({ line }) => line);
}

const password = [
  [/: $/, 'Passw0rd-3\r'],
  [/repeat the password: $/, 'Passw0rd-3\r'],
] as const;

/** Lines of the guide to clusters. */
const clusterLines = cluster.sections
  .flatMap(({ blocks }) => blocks)
  .flatMap((block) => (typeof block === 'object' && 'lines' in block ? block.lines : []));

/** By the first word, or the page. */
export const stories: Readonly<Record<string, Story>> = {
  account: {},
  alias: {},
  keys: {
    prepare: `${keyFiles}\ncloud keys create work.pem.pub --name laptop -q > /dev/null`,
    before: {
      'cloud keys create ~/.ssh/id_rsa.pub --name laptop': 'cloud keys delete laptop -y -q',
      'cloud keys delete laptop work --yes': 'cloud keys create ~/.ssh/id_rsa.pub --name laptop -q > /dev/null',
    },
  },
  users: {
    prepare: `${keyFiles}${users}
echo Passw0rd-2 > alice.txt; mkdir -p bin; printf '#!/bin/sh\\necho Passw0rd-1\\n' > bin/pass; chmod +x bin/pass
cloud users keys create alice work.pem.pub --name laptop -q > /dev/null`,
    before: {
      'cloud users create alice --email alice@example.com': 'cloud users delete alice -y -q',
      'pass show alice | head -1 | cloud users create alice --email alice@example.com --password-stdin --wait':
        'cloud users delete alice -y -q',
      'cloud users password alice': 'cloud users update alicia --login alice -q > /dev/null',
      'cloud users delete alice bob --yes --wait': users,
      'cloud users keys list alice': `${users}; cloud users keys create alice work.pem.pub --name laptop -q > /dev/null`,
      'cloud users keys create alice alice.pub --name laptop': 'cloud users keys delete alice laptop -y -q',
      'ssh-keygen -y -f alice.pem | cloud users keys create alice -': 'cloud users keys delete alice laptop -y -q',
      'cloud users keys delete alice laptop': 'cloud users keys create alice work.pem.pub --name laptop -q > /dev/null',
      'cloud users keys delete alice laptop work --yes':
        'cloud users keys create alice work.pem.pub --name laptop -q > /dev/null; cloud users keys create alice .ssh/id_rsa.pub --name work -q > /dev/null',
    },
    answers: {
      'cloud users create alice --email alice@example.com': password,
      'cloud users password alice': password,
    },
  },
  roles: {
    prepare: access,
    before: {
      'cloud roles create dev --default-member alice --policy read-images': 'cloud roles delete dev -y -q',
      'cloud roles edit dev': 'cloud roles update developers --name dev -q > /dev/null; export EDITOR=true',
      'cloud roles delete dev ops --yes': 'cloud roles create dev -q > /dev/null',
      'cloud roles tags get keys': 'for r in dev ops; do cloud roles create $r -q > /dev/null; done',
      'cloud roles tags remove keys ops': 'cloud roles tags set keys ops -q > /dev/null',
    },
  },
  policies: {
    prepare: `${keyFiles}${access}\ncloud keys create work.pem.pub --name laptop -q > /dev/null`,
    before: {
      "cloud policies create read-keys --rule 'CAN listkeys AND getkey'": 'cloud policies delete read-keys -y -q',
      "cloud policies update read-keys --rule 'CAN listkeys'": 'cloud policies update keys --name read-keys -q > /dev/null',
      'cloud policies edit read-keys': 'export EDITOR=true',
      'cloud policies delete read-keys old --yes':
        "for p in read-keys old; do cloud policies create $p --rule 'CAN listkeys' -q > /dev/null; done",
      'cloud policies simulate alice listimages images --from rbac.yaml --expect allow':
        'cloud roles tags add images dev -q; cloud rbac export > rbac.yaml',
    },
  },
  rbac: { prepare: `${access}\ncloud stor mkdir photos -q` },
  images: {
    before: {
      'cloud images export web@1.0.0 images': `cloud stor mkdir images -q`,
      'cloud images update web@1.0.0 --version 1.0.1': 'cloud images delete web@1.0.1 -y -q',
      'cloud images share web@1.0.0 b3f3c9b2-6c36-4b3c-8d5c-0d6f1f0a2f37': web,
      'cloud images delete web@1.0.0 web@1.0.1 --yes': web,
    },
    left: { 'cloud images clone web@1.0.0': needsOther, 'cloud images clone web@1.0.0 -o name': needsOther },
  },
  packages: {},
  datacenters: {},
  services: {},
  stor: {
    prepare: `${access}\n${logs}\nfor r in operators auditors; do cloud roles create $r -q > /dev/null; done; for p in work home; do cp .config/cloud/profiles/local.json .config/cloud/profiles/$p.json; done`,
    before: {
      'cloud stor rm -y --glob "logs/*.tmp" old': 'for f in logs/x.tmp old; do echo x | cloud stor put -q - $f; done',
      'cloud stor cat app.log --range -1000': 'echo x | cloud stor put -q - app.log',
      'cloud stor cp -r stor:photos ./photos': 'cloud stor put -q -r -T photos photos',
      'cloud stor cp -r work/stor:photos home/stor:pictures': 'cloud stor put -q -r -T photos photos',
      'cloud stor cp -r photos backup/': 'cloud stor mkdir -q backup; cloud stor put -q -r photos photos',
      'cloud stor sync photos stor:photos --plan - | grep -v secret | cloud stor run -': 'echo new > photos/new.jpg',
      'cloud stor snapshot create photos@monday': 'cloud stor put -q -r -T photos photos',
      'cloud stor snapshot diff photos@monday photos@tuesday': 'cloud stor snapshot create -q photos@tuesday',
      'cloud stor roles get logs/a.gz -j': 'echo x | cloud stor put -q - logs/a.gz',
    },
    left: { 'cloud stor sync site stor:site --watch': 'it goes on until it is interrupted; test/scenarios/stor-watch.test.ts does that' },
  },
  mpu: {
    prepare: `cloud stor mkdir -q backups; head -c 40000000 /dev/zero > disk.img; head -c 20000000 disk.img > disk.part0; ${upload}`,
    before: {
      'cloud mpu commit 0c4d6e9a $(cloud mpu parts 0c4d6e9a -o name)': `${upload}; cloud mpu put-part $(cat upload) 0 disk.part0 -q > /dev/null`,
      'cloud mpu abort 0c4d6e9a': upload,
      'cloud mpu abort 0c4d6e9a 77aa01bc -y': `${upload}; cp upload other; ${upload}`,
      'cloud mpu list -o name | xargs cloud mpu abort -y': upload,
    },
    words: [
      [/0c4d6e9a/g, '$(cat upload)'],
      [/77aa01bc/g, '$(cat other)'],
    ],
  },
  jobs: {
    prepare: `${logs}\necho 'wc -l' > count.sh; cloud stor put -q count.sh count.sh\n${job}`,
    before: {
      'cloud stor find logs -o name --type object | cloud jobs add count': job,
      'cloud jobs end count && cloud jobs wait count': job,
      'cloud jobs cancel count': job,
      'cloud jobs wait count': done,
      'cloud jobs failures count': failing,
    },
    // Names of jobs need not be unique, and jobs of this name remain.
    words: [[/(?<= (?:get|add|end|cancel|wait|watch|inputs|outputs|failures|errors) )count/g, '$(cat job)']],
  },
  ping: { prepare: profiles },
  api: { prepare: logs },
  url: { prepare: logs },
  profile: {
    prepare: profiles,
    before: {
      'cloud profile delete old older -y': 'cp work.json .config/cloud/profiles/old.json',
      'cloud profile import': `rm .config/cloud/profiles/work.json; mkdir -p .triton/profiles.d
echo '{"url":"https://cloud.example.com","account":"jill","keyId":"SHA256:abc"}' > .triton/profiles.d/work.json`,
    },
    left: {
      'cloud profile create work': 'it asks, and trusts no authority of a local service; test/e2e/terminal.test.ts has it',
      'cloud profile create work --url https://cloud.example.com --account jill --key-id SHA256:3n0kmy...': 'address and key are made up',
    },
  },
  env: { prepare: profiles, shells: { 'cloud env work --shell fish | source': 'fish --no-config' } },
  server: { left: Object.fromEntries(listExamples(server).map((line) => [line, databaseReason])) },
  local: {
    prepare: `${programs}; cloud local stop -q; cloud local start -q --data ./data --compute-port 0 --stor-port 0 > /dev/null`,
    before: {
      'cloud local logs | grep " 500 "': 'echo " 500 " >> .local/share/cloud/local/service.log',
      'cloud local reset --data ./data': 'cloud local stop -q --data ./data',
      'cloud local run --snapshot ready -- npm test': 'cloud local snapshot create ready',
      'cloud local snapshot create ready': 'cloud local start -q --compute-port 0 --stor-port 0 > /dev/null',
      'cloud local snapshot create ready --data ./data': `cloud local start -q --data ./data --compute-port 0 --stor-port 0 > /dev/null; trap 'cloud local stop -q --data ./data' EXIT`,
      'cloud local fork --profile trial': stopForks,
      'cloud local fork --snapshot ready -j': `cloud local snapshot create ready; ${stopForks}`,
      'cloud local faults add getobject 503 --count 1': 'cloud local start -q --compute-port 0 --stor-port 0 > /dev/null',
      'cloud local clock advance 10m': 'cloud local start -q --compute-port 0 --stor-port 0 > /dev/null',
      'cloud local run --fixtures ./fixtures -- npm test': 'mkdir -p fixtures/stor; echo June > fixtures/stor/a.txt',
      'cloud local seed ./fixtures': `mkdir -p fixtures/stor; echo June > fixtures/stor/a.txt; ${stand}`,
      'cloud local run --replay suite.jsonl -- npm test': `${stand}; cloud local record -q suite.jsonl -- npm test > /dev/null; cloud local stop -q`,
      'cloud local record suite.jsonl -- npm test': stand,
      'cloud --profile lab local record lab.jsonl --body-limit 1M -- ./check': stand,
    },
    left: {
      'cloud local start': portReason,
      'cloud local start --replay suite.jsonl': portReason,
      'cloud local serve': portReason,
      'cloud local serve --data /tmp/cloud --compute-port 0 --stor-port 0': serveReason,
      'cloud local serve --data ./east --peer west=./west': portReason,
      'cloud local serve --staleness 3000 --throttle 20/s --latency 50': portReason,
      'cloud local serve --fault createkey=InternalError*2,getimage=503:Down': portReason,
    },
  },
  conformance: { left: { 'cloud conformance --area storage': 'it takes long, and conformance.test.ts runs it' } },
  doctor: {},
  resume: {},
  completion: {
    before: { 'cloud completion zsh > "${fpath[1]}/_cloud"': 'mkdir functions; fpath=($HOME/functions $fpath)' },
    shells: { 'cloud completion zsh > "${fpath[1]}/_cloud"': 'zsh -f', 'cloud completion fish | source': 'fish --no-config' },
  },
  help: {},
  version: {},
  'cloud-cluster': {
    left: Object.fromEntries(clusterLines.map((line) => [line, 'it needs PostgreSQL; test/cluster/guide.test.ts does that'])),
  },
  'cloud-signing': {
    prepare: `${keyFiles}${logs}\necho june | cloud stor put -q - reports/june.pdf\ncloud stor sign reports/june.pdf > url.txt; cloud url explain - --jq '.lines[]' < url.txt > signed-text.txt`,
  },
  'cloud-policies': {
    prepare: `${keyFiles}${users}\ncloud keys create work.pem.pub --name laptop -q > /dev/null`,
    left: { "echo 'CAN listkey' | cloud policies check -": 'it shows what is wrong, and fails' },
  },
  'cloud-scripting': {
    prepare: logs,
    // That it fails is what it shows.
    shells: { 'cloud keys get nobody -j 2>&1 >/dev/null | jq -r .code': 'bash' },
  },
  'cloud-job-tools': {
    prepare: `${logs}\nprintf 'a 1\\nb 2\\na 3\\n' | cloud stor put -q - counts.txt; printf '~~/stor/logs/%s.txt\\n' a b | cloud stor put -q - list-of-logs.txt`,
  },
  'cloud-local': {
    prepare: `${programs}; echo note > notes.txt`,
    before: {
      'cloud local snapshot create ready': 'cloud local start -q --compute-port 0 --stor-port 0 > /dev/null',
      'cloud local fork --snapshot ready --profile trial': 'cloud local start -q --compute-port 0 --stor-port 0 > /dev/null',
      'cloud --profile trial stor ls': stopForks,
      'cloud local faults add getobject 503 --count 1': 'cloud local start -q --compute-port 0 --stor-port 0 > /dev/null',
      'cloud local clock advance 10m': 'cloud local start -q --compute-port 0 --stor-port 0 > /dev/null',
      'cloud stor put notes.txt notes.txt': 'cloud local start -q --compute-port 0 --stor-port 0 > /dev/null',
      'cloud images create 6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001 web 1.0.0 --wait':
        'cloud local start -q --compute-port 0 --stor-port 0 > /dev/null',
    },
    left: {
      'cloud local start': portReason,
      'cloud local start --add-account other': portReason,
      'cloud --profile local-other stor get /demo/stor/notes.txt': 'it shows what is refused; test/e2e/local.test.ts has it',
    },
  },
  'cloud-testing': {
    prepare: `${suites}\n${stand}`,
    before: {
      'cloud local run --fixtures fixtures -- cloud stor cat report.txt': 'mkdir -p fixtures/stor && echo June > fixtures/stor/report.txt',
      'cloud local run -- npx vitest run --no-file-parallelism': `ln -s ${resolve(import.meta.dirname, '../../node_modules')} node_modules
sed -i "s/'node:test'/'vitest'/" report.test.mjs; export npm_config_update_notifier=false`,
    },
    left: {
      ...(!runs('python3', '-m', 'pytest', '--version') && {
        'cloud local run -- python3 -m pytest -q test_report.py': 'pytest is not installed',
      }),
      ...(!runs('go', 'version') && { 'cloud local run -- go test -count=1 report_test.go': 'Go is not installed' }),
    },
  },
};
