/**
 * Command lines that list, transfer or change, for the proof that damages them. `NAME` stands for a name of their own, in the account
 * and below the directory `w`.
 */

/** A command that only reads: whatever it prints with exit code 0 is what it prints when nothing is damaged. */
export interface ReadCase {
  readonly line: string;
  /** The command reads several items, and says of each that it failed. */
  readonly several?: true;
}

/** A command that changes something. */
export interface ChangeCase {
  readonly line: string;
  /** Lines of the shell that make what it works on. */
  readonly before?: string;
  /** A line of the shell that prints what the command changes. It prints the same for every NAME. */
  readonly look: string;
  /** The command does several things: after a failure some of them may have been done. */
  readonly several?: true;
}

/** What the reading commands find, made once. */
export const samples = `
ssh-keygen -q -t rsa -b 2048 -N '' -f key.sample && cloud keys create key.sample.pub --name sample
echo secret-4711x > password
cloud users create jill --email jill@example.com --password-file password
cloud users keys create jill key.sample.pub --name hers
cloud policies create reads --rule 'CAN getobject' && cloud policies create writes --rule 'CAN putobject' && cloud roles create dev --member jill --policy reads
cloud roles tags set keys/sample dev
mkdir -p tree/a/b && for number in 1 2 3 4 5 6; do seq $number 3000 > "tree/a/f $number"; seq $number 90 > tree/a/b/g$number; done
cloud stor mkdir -p w/reads && cloud stor put -r tree w/reads/tree && cloud stor ln w/reads/tree/a/b/g1 w/reads/link
seq 1 800000 > part && seq 1 400000 > large && cloud stor put large w/reads/large -m colour=red
cloud stor roles set w/reads/link dev
cloud stor snapshot create w/reads/tree@one -q && cloud stor snapshot create w/reads/tree@two -q
cloud jobs run --name sample --map 'wc -l' w/reads/tree/a/b/g1 w/reads/tree/a/b/g2 > /dev/null
cloud mpu create w/reads/assembled -o name > upload && cloud mpu put-part $(cat upload) 0 part
cloud rbac export > rbac.yaml
`;

const severalObjects = 'stor cat w/reads/tree/a/b/g1 w/reads/large';

export const reads: readonly ReadCase[] = [
  'account get -j',
  'account limits -j',
  'account config get -j',
  'keys list -j',
  'keys list -o csv',
  'keys get sample -j',
  'keys local -j',
  'users list -j',
  'users get jill --membership -j',
  'users keys list jill -j',
  'users keys get jill hers -j',
  'roles list -j',
  'roles get dev -j',
  'roles tags get keys/sample -j',
  'policies list -j',
  'policies get reads -j',
  'policies simulate jill getobject /demo/stor/w',
  'policies who-can getobject /demo/stor/w -j',
  'rbac export',
  'rbac diff rbac.yaml',
  'rbac impact rbac.yaml -j',
  'rbac graph',
  'images list -j',
  'images list -o jsonl',
  'images get base-64 -j',
  'images tags get base-64 -j',
  'images wait base-64 --state active',
  'packages list -j',
  'packages get b1-medium -j',
  'datacenters list -j',
  'datacenters get local -j',
  'services list -j',
  'services get storage -j',
  'api /my/keys',

  'api --service stor /demo/stor/w/reads/tree/a',
  'stor ls -j w/reads',
  'stor ls w/reads/tree/a -o jsonl',
  'stor find w/reads',
  'stor du w/reads -j',
  'stor tree w/reads',
  'stor stat w/reads/large -j',
  severalObjects,
  'stor get w/reads/large',
  'stor get w/reads/large -P 4',
  'stor meta get w/reads/large -j',
  'stor roles get w/reads/link -j',
  'stor diff tree stor:w/reads/tree',
  'stor snapshot list w/reads/tree -j',
  'stor snapshot diff w/reads/tree@one -j',
  'mpu list -j',
  'mpu parts $(cat upload) -j',
  'mpu get $(cat upload) -j',
  'jobs list -j',
  'jobs get sample -j',
  'jobs inputs sample',
  'jobs outputs sample',
  'jobs outputs sample --cat',
  'jobs failures sample',
  'jobs errors sample -j',
  'jobs wait sample',
  'jobs watch sample',
].map((line) => ({ line, ...(line === severalObjects && { several: true }) }));

const makesKey = "ssh-keygen -q -t ecdsa -N '' -f key.NAME";
const makesUser = 'cloud users create NAME --email NAME@example.com --password-file password';
const makesJob = `cloud jobs create --name NAME --map cat -o name > job.NAME`;
const makesUpload = 'cloud mpu create w/NAME -o name > upload.NAME';
const machine = '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001';
const stranger = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
const makesImage = `cloud images create ${machine} NAME 1 -o name > image.NAME`;

export const changes: readonly ChangeCase[] = [
  { line: 'account update --city NAME', look: 'cloud account get -o tsv -H --columns city | grep -c NAME' },
  {
    line: 'account config set --default-network 62253da7-2df6-4d34-9308-7428572f2323',
    before: 'cloud account config set --default-network 8a3ee67a-1a45-43ea-b686-4d3dc9b78a06',
    look: 'cloud account config get -o tsv -H',
  },
  {
    line: `api POST /my/policies -f name=NAME -F 'rules:=["CAN getobject"]'`,
    look: 'cloud policies list -o tsv -H --columns name | grep -c ^NAME$',
  },
  { line: 'keys create key.NAME.pub --name NAME', before: makesKey, look: 'cloud keys list -o tsv -H --columns name | grep -c ^NAME$' },
  {
    line: 'keys delete NAME -y',
    before: `${makesKey} && cloud keys create key.NAME.pub --name NAME`,
    look: 'cloud keys list -o tsv -H --columns name | grep -c ^NAME$',
  },
  {
    line: 'users create NAME --email NAME@example.com --password-file password',
    look: 'cloud users list -o tsv -H --columns login | grep -c ^NAME$',
  },
  { line: 'users update NAME --city x', before: makesUser, look: 'cloud users get NAME -o tsv -H --columns city' },
  { line: 'users password NAME --password-file password', before: makesUser, look: 'cloud users get NAME -o tsv -H --columns login' },
  { line: 'users delete NAME -y', before: makesUser, look: 'cloud users list -o tsv -H --columns login | grep -c ^NAME$' },
  {
    line: 'users keys create NAME key.sample.pub --name one',
    before: makesUser,
    look: 'cloud users keys list NAME -o tsv -H --columns name',
  },
  {
    line: 'users keys delete NAME one -y',
    before: `${makesUser} && cloud users keys create NAME key.sample.pub --name one`,
    look: 'cloud users keys list NAME -o tsv -H --columns name',
  },
  { line: 'roles create NAME --member jill --policy reads', look: 'cloud roles list -o tsv -H --columns name | grep -c ^NAME$' },
  {
    line: 'roles update NAME --add-policy reads',
    before: 'cloud roles create NAME',
    look: 'cloud roles get NAME -o tsv -H --columns name,policies',
  },
  {
    line: 'roles edit NAME',
    before: 'cloud roles create NAME --policy reads',
    look: 'cloud roles get NAME -o tsv -H --columns name,policies',
  },
  { line: 'roles delete NAME -y', before: 'cloud roles create NAME', look: 'cloud roles list -o tsv -H --columns name | grep -c ^NAME$' },
  {
    line: 'roles tags add users/NAME dev',
    before: makesUser,
    look: 'cloud roles tags get users/NAME -o tsv -H',
  },
  { line: 'roles tags set users/NAME dev', before: makesUser, look: 'cloud roles tags get users/NAME -o tsv -H' },
  {
    line: 'roles tags remove users/NAME dev',
    before: `${makesUser} && cloud roles tags set users/NAME dev`,
    look: 'cloud roles tags get users/NAME -o tsv -H',
  },
  {
    line: "policies create NAME --rule 'CAN getobject'",
    look: 'cloud policies list -o tsv -H --columns name | grep -c ^NAME$',
  },
  {
    line: "policies update NAME --add-rule 'CAN putobject'",
    before: "cloud policies create NAME --rule 'CAN getobject'",
    look: 'cloud policies get NAME -o tsv -H --columns name,rules',
  },
  {
    line: 'policies edit NAME',
    before: "cloud policies create NAME --rule 'CAN getobject'",
    look: 'cloud policies get NAME -o tsv -H --columns name,rules',
  },
  {
    line: 'policies delete NAME -y',
    before: "cloud policies create NAME --rule 'CAN getobject'",
    look: 'cloud policies list -o tsv -H --columns name | grep -c ^NAME$',
  },
  {
    line: 'rbac apply rbac.NAME -y',
    before: `printf 'version: "1"\\npolicies:\\n  - name: NAME-p\\n    rules: [CAN getobject]\\nroles:\\n  - name: NAME-r\\n    policies: [NAME-p]\\n' > rbac.NAME`,
    look: 'cloud roles list -o tsv -H --columns name,policies | grep NAME; cloud policies list -o tsv -H --columns name | grep NAME',
    several: true,
  },
  {
    line: 'images update $(cat image.NAME) --description new',
    before: makesImage,
    look: 'cloud images get $(cat image.NAME) -o tsv -H --columns name,description',
  },
  {
    line: 'images tags set $(cat image.NAME) colour=red',
    before: makesImage,
    look: 'cloud images tags get $(cat image.NAME) -o tsv -H',
  },
  {
    line: `images share $(cat image.NAME) ${stranger}`,
    before: makesImage,
    look: 'cloud images get $(cat image.NAME) -o tsv -H --columns name,acl',
  },
  {
    line: 'images tags unset $(cat image.NAME) colour',
    before: `${makesImage} && cloud images tags set $(cat image.NAME) colour=red`,
    look: 'cloud images tags get $(cat image.NAME) -o tsv -H',
  },
  {
    line: `images unshare $(cat image.NAME) ${stranger}`,
    before: `${makesImage} && cloud images share $(cat image.NAME) ${stranger}`,
    look: 'cloud images get $(cat image.NAME) -o tsv -H --columns name,acl',
  },
  {
    line: 'images export $(cat image.NAME) /demo/stor/w',
    before: `${makesImage} && cloud images wait $(cat image.NAME) --state active`,
    look: 'cloud stor ls w -o name | grep ^NAME',
  },
  {
    line: 'images delete $(cat image.NAME) -y',
    before: makesImage,
    look: 'cloud images list --state all -o tsv -H --columns name | grep -c ^NAME$',
  },
  {
    line: `images create ${machine} NAME 1`,
    look: 'cloud images list --state all -o tsv -H --columns name | grep -c ^NAME$',
  },
  { line: 'stor mkdir w/NAME', look: 'cloud stor ls w -o name | grep -c ^NAME$' },
  { line: 'stor mkdir -p w/NAME/a/b', look: 'cloud stor ls w -o name | grep -c ^NAME$; cloud stor find w/NAME', several: true },
  { line: 'stor put large w/NAME', look: 'cloud stor ls w -o tsv -H --columns name,size | grep ^NAME' },
  { line: 'stor put - w/NAME < large', look: 'cloud stor ls w -o tsv -H --columns name,size | grep ^NAME' },
  { line: 'stor put -r tree w/NAME', look: 'cloud stor diff tree stor:w/NAME', several: true },
  { line: 'stor get -r w/reads/tree back.NAME', look: 'diff -r tree back.NAME', several: true },
  { line: 'stor get w/reads/large back.NAME', look: 'cmp large back.NAME' },
  { line: 'stor sync tree stor:w/NAME', before: 'cloud stor mkdir w/NAME', look: 'cloud stor diff tree stor:w/NAME', several: true },
  { line: 'stor sync stor:w/reads/tree back.NAME', look: 'diff -r tree back.NAME', several: true },
  {
    line: 'stor rm w/NAME -y',
    before: 'cloud stor put password w/NAME',
    look: 'cloud stor ls w -o name | grep -c ^NAME$',
  },
  {
    line: 'stor rm -r w/NAME -y',
    before: 'cloud stor put -r tree w/NAME',
    look: 'cloud stor find w/NAME 2> /dev/null',
    several: true,
  },
  {
    line: 'stor find w/NAME --type f --delete -y',
    before: 'cloud stor put -r tree w/NAME',
    look: 'cloud stor find w/NAME',
    several: true,
  },
  {
    line: 'stor sync stor:w/reads/tree stor:w/NAME',
    before: 'cloud stor mkdir w/NAME',
    look: 'cloud stor diff stor:w/reads/tree stor:w/NAME',
    several: true,
  },
  {
    line: 'stor snapshot create w/NAME@one',
    before: 'cloud stor put -r tree w/NAME',
    look: "cloud stor snapshot list -o tsv -H --columns directory,state | grep 'NAME\twhole'",
    several: true,
  },
  {
    line: 'stor snapshot restore w/reads/tree@one --to w/NAME',
    look: 'cloud stor diff stor:w/reads/tree stor:w/NAME',
    several: true,
  },
  {
    line: 'stor snapshot delete w/NAME@one -y',
    before: 'cloud stor put -r tree w/NAME && cloud stor snapshot create w/NAME@one',
    look: 'cloud stor snapshot list -o name --columns directory | grep NAME',
    several: true,
  },
  {
    line: 'stor snapshot prune w/NAME --keep 1 -y',
    before: 'cloud stor put -r tree w/NAME && cloud stor snapshot create w/NAME@one && cloud stor snapshot create w/NAME@two',
    look: 'cloud stor snapshot list w/NAME -o name',
    several: true,
  },
  {
    line: 'stor run plan.NAME',
    before: 'cloud stor mkdir w/NAME && cloud stor sync tree stor:w/NAME --plan plan.NAME',
    look: 'cloud stor diff tree stor:w/NAME',
    several: true,
  },
  { line: 'stor cp w/reads/large w/NAME', look: 'cloud stor ls w -o tsv -H --columns name,size | grep ^NAME' },
  { line: 'stor cp -r w/reads/tree w/NAME', look: 'cloud stor diff tree stor:w/NAME', several: true },
  {
    line: 'stor mv w/NAME w/NAME.moved',
    before: 'cloud stor put password w/NAME',
    look: 'cloud stor ls w -o name | grep ^NAME',
    several: true,
  },
  { line: 'stor ln w/reads/large w/NAME', look: 'cloud stor ls w -o tsv -H --columns name,size | grep ^NAME' },
  {
    line: 'stor meta set w/NAME colour=blue',
    before: 'cloud stor put password w/NAME',
    look: 'cloud stor meta get w/NAME -o tsv -H | grep colour',
  },
  {
    line: 'stor meta unset w/NAME colour',
    before: 'cloud stor put password w/NAME -m colour=red',
    look: 'cloud stor meta get w/NAME -o tsv -H | grep -c colour',
  },
  {
    line: 'stor meta replace w/NAME colour=blue',
    before: 'cloud stor put password w/NAME -m colour=red -m size=small',
    look: 'cloud stor meta get w/NAME -o tsv -H',
  },
  { line: 'stor roles set w/NAME dev', before: 'cloud stor put password w/NAME', look: 'cloud stor roles get w/NAME -o tsv -H' },
  {
    line: 'stor roles remove w/NAME dev',
    before: 'cloud stor put password w/NAME && cloud stor roles set w/NAME dev',
    look: 'cloud stor roles get w/NAME -o tsv -H',
  },
  {
    line: 'stor roles add w/NAME dev',
    before: 'cloud stor put password w/NAME',
    look: 'cloud stor roles get w/NAME -o tsv -H',
  },
  { line: 'mpu create w/NAME', look: 'cloud mpu list -o tsv -H --columns targetObject | grep -c /NAME$' },
  { line: 'mpu upload large w/NAME --part-size 5M', look: 'cloud stor ls w -o tsv -H --columns name,size | grep ^NAME', several: true },
  {
    line: 'mpu put-part $(cat upload.NAME) 0 part',
    before: makesUpload,
    look: 'cloud mpu parts $(cat upload.NAME) -o tsv -H --columns size',
  },
  { line: 'mpu upload - w/NAME < part', look: 'cloud stor ls w -o tsv -H --columns name,size | grep ^NAME', several: true },
  {
    line: 'mpu put-part $(cat upload.NAME) 0 - < part',
    before: makesUpload,
    look: 'cloud mpu parts $(cat upload.NAME) -o tsv -H --columns size',
  },
  {
    line: 'mpu commit $(cat upload.NAME)',
    before: `${makesUpload} && cloud mpu put-part $(cat upload.NAME) 0 part`,
    look: 'cloud stor ls w -o tsv -H --columns name,size | grep ^NAME',
  },
  {
    line: 'mpu abort $(cat upload.NAME) -y',
    before: makesUpload,
    look: 'cloud mpu get $(cat upload.NAME) -o tsv -H --columns state,result',
  },
  { line: 'jobs create --name NAME --map cat', look: 'cloud jobs list -o tsv -H --columns name | grep -c ^NAME$' },
  {
    line: 'jobs add $(cat job.NAME) w/reads/tree/a/b/g1 w/reads/tree/a/b/g2',
    before: makesJob,
    look: 'cloud jobs inputs $(cat job.NAME)',
  },
  { line: 'jobs end $(cat job.NAME)', before: makesJob, look: 'cloud jobs get $(cat job.NAME) -o tsv -H --columns inputDone' },
  {
    line: 'jobs cancel $(cat job.NAME)',
    before: makesJob,
    look: 'cloud jobs get $(cat job.NAME) -o tsv -H --columns cancelled',
  },
  {
    line: "jobs run --name NAME --map 'wc -l' w/reads/tree/a/b/g1 w/reads/tree/a/b/g2",
    look: 'cloud jobs list -o tsv -H --columns name | grep -c ^NAME$',
    several: true,
  },
];

/**
 * Commands that ask no service of the user's cloud, or what they print is another thing each time: times, signatures, what the machine is
 * like; and those of several datacenters or of the profile itself, which tests of their own interrupt.
 */
export const others =
  /^(?:local|server|resume|alias|completion|help|profile|env|conformance|doctor|ping|version|api sign|policies check|rbac schema|stor sign|url explain)(?: |$)|^images (?:import|clone|promote|pipeline)$|^keys rotate$/u;
