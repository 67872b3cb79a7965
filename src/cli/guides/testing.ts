import type { Guide } from './guide.ts';

/** Test suites that run against services of their own. */
export const testing: Guide = {
  page: 'cloud-testing',
  topic: 'testing',
  summary: 'test suites with separate services, injected failures and a clock',
  sections: [
    {
      title: 'Description',
      blocks: [
        '`cloud local run` starts both services for a test suite, on free ports and with separate data, and removes everything when the suite ends. Its exit code is that of the suite. Any number can run in parallel: your profiles and the data of `cloud local start` are neither used nor changed. Where your home cannot be written, the run is in `TMPDIR`.',
        'The suite reaches the services through environment variables: `CLOUD_URL`, `CLOUD_STOR_URL`, `CLOUD_ACCOUNT`, `CLOUD_KEY_ID`, `CLOUD_KEY_FILE`, the same for the older tools (`TRITON_*`, `SDC_*`, `MANTA_*`), and the certificate authority to trust for Node.js, curl, OpenSSL, Go on Linux and Python. With `CLOUD_LOCAL_DATA`, the data directory, `cloud local clock`, `faults`, `requests` and `status` are about the services of the suite and no others. `CLOUD_HOME`, a folder of the run, is in place of your configuration and state; services that the suite starts with `cloud local fork` or `start` end with the run.',
        'With `--add-account other`, the suite can act as a second account: `CLOUD_LOCAL_ACCOUNTS` is a JSON list with `account`, `accountId`, `keyId` and `keyFile` of each added account, and `CLOUD_ACCOUNT=other CLOUD_KEY_ID= CLOUD_KEY_FILE=$CLOUD_LOCAL_DATA/keys/other.pem cloud stor ls` signs as `other`.',
        'Tests of one run share the services. Undo faults and clock changes before the next test, as the examples do, and give each test its own object names.',
      ],
    },
    {
      title: 'Shell',
      blocks: [
        'A script that stops at the first error is a test. This one is `check.sh`: a read that fails once is retried, and a URL expires after an hour.',
        {
          lines: [
            'set -eu',
            'echo June | cloud stor put -q - report.txt',
            'cloud local faults add getobject 503 --count 1 >/dev/null',
            'test "$(cloud stor cat report.txt)" = June',
            'test "$(cloud local faults list --jq ".[0].injected")" = 1',
            'cloud local faults clear -q',
            'url=$(cloud stor sign report.txt --expires 1h)',
            'curl -fsS "$url"',
            'cloud local clock advance 2h >/dev/null',
            'if curl -fsS "$url"; then exit 1; fi',
            'cloud local clock reset >/dev/null',
          ],
        },
        { lines: ['cloud local run -- sh check.sh'] },
      ],
    },
    {
      title: 'Node.js: the runner of Node.js itself',
      blocks: [
        'In `report.test.mjs`:',
        {
          lines: [
            "import assert from 'node:assert/strict';",
            "import { execFileSync } from 'node:child_process';",
            "import { afterEach, test } from 'node:test';",
            '',
            'const cloud = (...words) =>',
            "  execFileSync('cloud', words, { encoding: 'utf8' });",
            '',
            'afterEach(() => {',
            "  cloud('local', 'faults', 'clear', '-q');",
            "  cloud('local', 'clock', 'reset');",
            '});',
            '',
            "test('a read that fails once is repeated', () => {",
            "  const input = { input: 'June' };",
            "  execFileSync('cloud', ['stor', 'put', '-q', '-', 'a.txt'], input);",
            "  cloud('local', 'faults', 'add', 'getobject', '503', '--count', '1');",
            "  assert.equal(cloud('stor', 'cat', 'a.txt'), 'June');",
            "  const failed = cloud('local', 'requests', '--failed', '-j');",
            '  assert.equal(JSON.parse(failed).at(-1).status, 503);',
            '});',
          ],
        },
        { lines: ['cloud local run -- node --test report.test.mjs'] },
      ],
    },
    {
      title: 'vitest',
      blocks: [
        'The same file works with vitest if it has `import { afterEach, test } from "vitest"`. Files that run in parallel share the services; with `--no-file-parallelism` they run one after the other, so that the faults and the clock of one do not affect another.',
        { lines: ['cloud local run -- npx vitest run --no-file-parallelism'] },
      ],
    },
    {
      title: 'pytest',
      blocks: [
        'In `test_report.py`; a fixture undoes the changes of a test, also when the test fails:',
        {
          lines: [
            'import subprocess, pytest',
            '',
            'def cloud(*words, **options):',
            '    return subprocess.run(["cloud", *words], check=True, text=True,',
            '                          capture_output=True, **options).stdout',
            '',
            '@pytest.fixture(autouse=True)',
            'def as_before():',
            '    yield',
            '    cloud("local", "faults", "clear", "-q")',
            '    cloud("local", "clock", "reset")',
            '',
            'def test_a_read_that_fails_once_is_repeated():',
            '    cloud("stor", "put", "-q", "-", "b.txt", input="June")',
            '    cloud("local", "faults", "add", "getobject", "503", "--count", "1")',
            '    assert cloud("stor", "cat", "b.txt") == "June"',
          ],
        },
        { lines: ['cloud local run -- python3 -m pytest -q test_report.py'] },
      ],
    },
    {
      title: 'Go',
      blocks: [
        'In `report_test.go`; `-count=1` stops Go from reusing a cached result:',
        {
          lines: [
            'package report',
            '',
            'import (',
            '    "os/exec"',
            '    "testing"',
            ')',
            '',
            'func cloud(t *testing.T, words ...string) string {',
            '    t.Helper()',
            '    out, err := exec.Command("cloud", words...).Output()',
            '    if err != nil {',
            '        t.Fatalf("cloud %v: %v", words, err)',
            '    }',
            '    return string(out)',
            '}',
            '',
            'func TestReadIsRepeated(t *testing.T) {',
            '    t.Cleanup(func() { cloud(t, "local", "faults", "clear", "-q") })',
            '    cloud(t, "stor", "put", "-q", "report_test.go", "c.txt")',
            '    cloud(t, "local", "faults", "add", "getobject", "503", "--count", "1")',
            '    if cloud(t, "stor", "cat", "c.txt") == "" {',
            '        t.Error("nothing was read")',
            '    }',
            '}',
          ],
        },
        { lines: ['cloud local run -- go test -count=1 report_test.go'] },
      ],
    },
    {
      title: 'Faults and time',
      blocks: [
        'You can inject every failure that a client must handle, and set the clock. `--seed` makes the same requests fail in each run. `--fault` of `cloud local run` sets faults from the first request on. All faults: `cloud help local-service`.',
        {
          lines: [
            'cloud local run --fault getobject=503*1 -- sh check.sh',
            'cloud local run -- sh -c \'cloud local faults add "*" close --rate 0.1 --seed 7 && cloud stor ls\'',
            "cloud local run -- sh -c 'cloud local clock set 2027-02-28T23:59:50Z && cloud keys list'",
          ],
        },
      ],
    },
    {
      title: 'The module cloud/local',
      blocks: [
        'Suites in JavaScript and TypeScript can start services themselves, for each file or test, without a wrapping command: `import { startLocal } from "cloud/local"`, where `cloud` is a dependency of the package. It includes types. The services end with `stop`, or with the process that started them. `env` has the variables for the programs under test. `clock`, `faults`, `requests`, `snapshot`, `restore` and `reset` do the same as the commands, without starting processes. `fork` starts other services with the same state, in the time that a copy of the database takes.',
        'In `module.test.mjs`, for the runner of Node.js:',
        {
          lines: [
            "import assert from 'node:assert/strict';",
            "import { execFileSync } from 'node:child_process';",
            "import { after, test } from 'node:test';",
            "import { startLocal } from 'cloud/local';",
            '',
            'const ready = await startLocal({ empty: true });',
            'after(() => ready.stop());',
            '',
            "test('a read that fails once is repeated', async () => {",
            '  const services = await ready.fork();',
            '  const env = { ...process.env, ...services.env };',
            '  const cloud = (...words) =>',
            "    execFileSync('cloud', words, { env, input: 'June', encoding: 'utf8' });",
            "  cloud('stor', 'put', '-q', '-', 'a.txt');",
            "  await services.faults.add('getobject', '503', { count: 1 });",
            "  assert.equal(cloud('stor', 'cat', 'a.txt'), 'June');",
            '  const failed = await services.requests({ failed: true });',
            '  assert.equal(failed.at(-1).status, 503);',
            '  await services.stop();',
            '});',
          ],
        },
      ],
    },
    {
      title: 'Fixtures',
      blocks: [
        '`--fixtures DIR` of `cloud local run` adds objects, users and roles before the suite starts: the files in `DIR/stor` and `DIR/public`, and the access document `DIR/access.yaml`, as written by `cloud rbac export`. `cloud local seed DIR` does the same for running services.',
        {
          lines: [
            'mkdir -p fixtures/stor && echo June > fixtures/stor/report.txt',
            'cloud local run --fixtures fixtures -- cloud stor cat report.txt',
          ],
        },
      ],
    },
    {
      title: 'Record and replay a real cloud',
      blocks: [
        '`cloud local record` runs a suite against the cloud of the profile, through a proxy on this machine, and writes each request and its response to a file, one line of JSON each. Only the date is signed, so requests pass through unchanged. With `--replay` the file responds instead of the cloud: to the same method, path, query, range, conditions and body, in the recorded order. Reads may be repeated. A request that was not recorded gets the error 501 `NotRecorded`, which names the nearest recorded request.',
        'The file contains no signatures, passwords or private keys: a response that contains one is recorded without its body. It contains the object contents that programs read, so record with test data. Addresses in responses stay those of the cloud. A suite can be replayed only if it uses fixed names: random or time-based names make a different request in each run.',
        {
          lines: ['cloud --profile lab local record suite.jsonl -- cloud stor ls', 'cloud local run --replay suite.jsonl -- cloud stor ls'],
        },
      ],
    },
    {
      title: 'When a test fails',
      blocks: [
        'Until the run ends, `cloud local requests` shows the requests of the program under test and why the service rejected them: the text that should have been signed, the missing rule or role tag, and a curl command that repeats the request. `--log` writes a line for each request, which stays after the run.',
        {
          lines: [
            "cloud local run -- sh -c 'cloud stor ls && cloud local requests --failed -j'",
            'cloud local run --log requests.log -- sh check.sh',
          ],
        },
      ],
    },
  ],
};
