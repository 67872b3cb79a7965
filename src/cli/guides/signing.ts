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
        'Nothing is logged in to: every request to either service carries a signature made with a private key whose public half is registered with the account. The private key never leaves this machine, or the ssh-agent that holds it.',
        { lines: ['cloud keys local', 'cloud keys create ~/.ssh/id_rsa.pub --name laptop', 'cloud doctor'] },
      ],
    },
    {
      title: 'Finding the key',
      blocks: [
        'A profile names its key by MD5 or SHA256 fingerprint (`--key-id`) or by file (`--key-file`). A key that is named by fingerprint is looked for in the ssh-agent that `SSH_AUTH_SOCK` names, then among the files in `~/.ssh`. OpenSSH, PEM and PKCS#8 files serve, encrypted or not; the passphrase is asked for once.',
        { lines: ['ssh-keygen -l -E md5 -f ~/.ssh/id_rsa.pub', 'ssh-keygen -l -f ~/.ssh/id_rsa.pub'] },
      ],
    },
    {
      title: 'Types of keys',
      blocks: [
        {
          terms: [
            ['RSA', 'Serves for both services, with SHA-256.'],
            [
              'ECDSA',
              'Serves for the compute service. For the object storage only where the profile says that it takes them: the setting `storEcdsa`, which profiles of `cloud local` have.',
            ],
            ['DSA', 'Serves for the object storage only.'],
            ['Ed25519, FIDO', 'Neither service takes them. Make another key: `ssh-keygen -t rsa -b 3072`'],
          ],
        },
        'A profile may name a second key for the object storage: the setting `storKeyId`.',
      ],
    },
    {
      title: 'What is signed',
      blocks: [
        'For the compute service the value of the `Date` header; the header is',
        { lines: ['Authorization: Signature keyId="/LOGIN/keys/FINGERPRINT",algorithm="rsa-sha256" BASE64'] },
        'For the object storage the text `date:`, a space and the value of the `Date` header:',
        { lines: ['Authorization: Signature keyId="/LOGIN/keys/FINGERPRINT",algorithm="rsa-sha256",signature="BASE64"'] },
        'Sub-users sign with keys of their own (`--user LOGIN`): `/LOGIN/users/USER/keys/FINGERPRINT` for the compute service, `/LOGIN/USER/keys/FINGERPRINT` for the object storage.',
        'A date may be 300 seconds off, in either direction. A refusal for that reason says by how much this clock is off.',
      ],
    },
    {
      title: 'Pre-signed URLs',
      blocks: [
        'A URL can carry its signature, so that somebody without a key can use it for a while:',
        { lines: ['cloud api sign /my/images --expires 1h', 'cloud stor sign reports/june.pdf --expires 1h'] },
        'Whoever has the URL can do with it what you can, for its methods, until it expires. It cannot be taken back but by deleting the key.',
        'What a URL grants, for how long, and which lines were signed, without asking the service; and, for a program that signs by itself, the first line that is otherwise:',
        { lines: ['cloud url explain "$(cloud stor sign reports/june.pdf)"', 'cloud url explain - --compare signed-text.txt < url.txt'] },
      ],
    },
    {
      title: 'Looking at it',
      blocks: [
        '`-v` shows each request and response on standard error, `-vv` with headers and bodies; signatures are left out. `--curl` prints the request as a curl command that works for as long as its date is accepted.',
        { lines: ['cloud -vv images list', 'cloud images list --curl'] },
      ],
    },
  ],
};
