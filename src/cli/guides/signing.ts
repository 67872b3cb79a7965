import type { Guide } from './guide.ts';

/** The signing of requests, and the choice of keys. */
export const signing: Guide = {
  page: 'cloud-signing',
  topic: 'signing',
  summary: 'how requests are signed, and with which keys',
  sections: [
    {
      title: 'Description',
      blocks: [
        'There is no login: every request to either service carries a signature by a private key whose public key is registered with the account. The private key never leaves this machine, or the ssh-agent that holds it.',
        { lines: ['cloud keys local', 'cloud keys create ~/.ssh/id_rsa.pub --name laptop', 'cloud doctor'] },
      ],
    },
    {
      title: 'Finding the key',
      blocks: [
        'A profile names its key by MD5 or SHA256 fingerprint (`--key-id`) or by file (`--key-file`). A fingerprint is looked up in the ssh-agent that `SSH_AUTH_SOCK` names, then among the files in `~/.ssh`. OpenSSH, PEM and PKCS#8 files work, encrypted or not; the program asks once for the passphrase.',
        { lines: ['ssh-keygen -l -E md5 -f ~/.ssh/id_rsa.pub', 'ssh-keygen -l -f ~/.ssh/id_rsa.pub'] },
      ],
    },
    {
      title: 'Types of keys',
      blocks: [
        {
          terms: [
            ['RSA', 'For both services, with SHA-256.'],
            [
              'ECDSA',
              'For the compute service. For the object storage only if the profile has the setting `storEcdsa`, as profiles of `cloud local` do.',
            ],
            ['DSA', 'For the object storage only.'],
            ['Ed25519, FIDO', 'Neither service accepts them. Create another key: `ssh-keygen -t rsa -b 3072`'],
          ],
        },
        'A profile may name a second key for the object storage: the setting `storKeyId`.',
      ],
    },
    {
      title: 'What is signed',
      blocks: [
        'For the compute service, the value of the `Date` header is signed:',
        { lines: ['Authorization: Signature keyId="/LOGIN/keys/FINGERPRINT",algorithm="rsa-sha256" BASE64'] },
        'For the object storage, the text `date:`, a space and the value of the `Date` header are signed:',
        { lines: ['Authorization: Signature keyId="/LOGIN/keys/FINGERPRINT",algorithm="rsa-sha256",signature="BASE64"'] },
        'Sub-users sign with their own keys (`--user LOGIN`): `/LOGIN/users/USER/keys/FINGERPRINT` for the compute service, `/LOGIN/USER/keys/FINGERPRINT` for the object storage.',
        'A date may differ by up to 300 seconds in either direction. If a request is rejected because of its date, the error shows by how much this clock is off.',
      ],
    },
    {
      title: 'Pre-signed URLs',
      blocks: [
        'A URL can carry a signature, so that somebody without a key can use it for a limited time:',
        { lines: ['cloud api sign /my/images --expires 1h', 'cloud stor sign reports/june.pdf --expires 1h'] },
        'Anyone who has the URL can use it with your permissions, for its methods, until it expires. The only way to revoke it is to delete the key.',
        '`cloud url explain` shows what a URL grants, for how long, and which lines were signed, without a request. For a program that creates its own signatures, `--compare` shows the first line that differs:',
        { lines: ['cloud url explain "$(cloud stor sign reports/june.pdf)"', 'cloud url explain - --compare signed-text.txt < url.txt'] },
      ],
    },
    {
      title: 'Inspect requests',
      blocks: [
        '`-v` shows each request and response on standard error, `-vv` also headers and bodies; signatures are omitted. `--curl` prints the request as a curl command that works as long as its date is accepted.',
        { lines: ['cloud -vv images list', 'cloud images list --curl'] },
      ],
    },
  ],
};
