import type { Guide } from './guide.ts';

/** The policy language, and the relation of users, roles, policies and tags. */
export const policies: Guide = {
  page: 'cloud-policies',
  topic: 'policy-language',
  summary: 'who may do what: sub-users, roles, policies, rules and role tags',
  sections: [
    {
      title: 'Description',
      blocks: [
        'The account itself may do everything. Its sub-users may do nothing until three things come together:',
        {
          terms: [
            [
              'a role',
              'of which the user is a member, and which is active for the request: a role of which the user is a default member, or one that the request names with `--role`',
            ],
            ['a role tag', 'that puts this role on the resource: on one key, or on the list of all keys'],
            ['a rule', 'in a policy of this role that allows the action'],
          ],
        },
        {
          lines: [
            "cloud policies create read-keys --rule 'CAN listkeys AND getkey'",
            'cloud roles create reader --default-member alice --policy read-keys',
            'cloud roles tags add keys reader',
            'cloud policies simulate alice listkeys keys',
          ],
        },
        'Each resource needs its own tag: the list of keys is one resource, each key another. New objects and directories have the tags of the directory they are in; what a job of a sub-user leaves has the roles that were active when it was created too. It may take some seconds until reads show a change of users, roles and policies: scripts give `--wait` to the commands that make it.',
      ],
    },
    {
      title: 'Rules',
      blocks: [
        { lines: ['CAN actions', 'CAN actions WHEN conditions'] },
        'Actions are operations in lower case, such as `listkeys`, `getimage` or `putobject`; before the last of several stands `AND`, between the others commas: `getkey, listkeys AND createkey`. A `*` in a word stands for anything: `get*`. A regular expression stands between slashes: `/^(get|list)/::regex`. Words with special characters stand between double quotation marks.',
        'Who acts and on what is never written: the user is the one who signs, the resource is the one that the request names, chosen by role tags.',
      ],
    },
    {
      title: 'Conditions',
      blocks: [
        'A comparison is a name, perhaps with its type, an operator and a value. Comparisons are joined by `AND` and `OR`, turned round by `NOT`, and grouped by parentheses.',
        {
          lines: [
            'CAN listmachines AND getmachine WHEN requesttime::time > 08:00:00 AND requesttime::time < 18:00:00',
            'CAN stopmachine WHEN requesttime::day IN (mon, tue, wed, thu, fri)',
            'CAN getobject WHEN sourceip = 10.0.0.0/8',
            'CAN getobject WHEN user-agent LIKE /^backup/',
          ],
        },
        {
          terms: [
            ['string, number, boolean, date', '= != < > <= >= IN, and LIKE with a regular expression for strings'],
            ['time', 'hh:mm:ss, UTC'],
            ['day', 'mon, monday, m and so on (t is Tuesday, th Thursday, s Saturday, su Sunday), or 1 (Monday) to 7; UTC'],
            ['ip', '= != IN, with an address or a network; IPv6 between quotation marks'],
            ['array', 'CONTAINS'],
          ],
        },
        'The names `date`, `day`, `time`, `sourceip`, `method`, `owner`, `fromjob`, `overwrite`, `user-agent` and `activeroles` need no type.',
      ],
    },
    {
      title: 'Checking',
      blocks: [
        'The service refuses a rule that it cannot read; `cloud policies check` shows each mistake where it stands, without a service, and warns of rules that grant nothing. Whether a user may do something, and through which role, policy and rule or why not, can be asked without trying it. A whole account can be kept as one document, with role tags of whole trees under `trees`: `stor/photos: [dev]` is for the directory and everything in it, and a deeper path comes first.',
        {
          lines: [
            "echo 'CAN listkey' | cloud policies check -",
            'cloud policies simulate alice getkey keys/laptop --at "monday 03:00"',
            'cloud rbac export > rbac.yaml',
            'cloud rbac apply rbac.yaml --dry-run',
          ],
        },
      ],
    },
  ],
};
