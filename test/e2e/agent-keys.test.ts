import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { useSandbox } from '../support/sandbox.ts';

const user = useSandbox();

test('an agent with several keys: the hint lists each with its fingerprint and the services that take it', async () => {
  writeRsaKeyFile(join(user.home, 'key-rsa'), { comment: 'my rsa' });
  const { code, stdout, stderr } = await user.shell(`
    ssh-keygen -q -t ecdsa -N '' -C 'my ecdsa' -f key-ecdsa
    for type in rsa ecdsa; do ssh-keygen -l -E md5 -f key-$type.pub | cut -d ' ' -f 2; done
    eval "$(ssh-agent)" > /dev/null; trap 'kill $SSH_AGENT_PID' EXIT
    ssh-add -q key-rsa key-ecdsa
    cloud keys list --url https://127.0.0.1:1 --account demo`);
  const [rsa = '', ecdsa = ''] = stdout.split('\n').map((line) => line.replace('MD5:', ''));
  expect(code).toBe(4);
  expect(stderr).toContain('the ssh-agent holds 2 keys; choose one with --key-id');
  expect(stderr).toContain(`hint: --key-id ${rsa}: ssh-rsa my rsa, works with both services\n`);
  expect(stderr).toMatch(new RegExp(`hint: --key-id ${ecdsa}: ecdsa-sha2-\\S+ my ecdsa, works with the compute service\n`));
});
