import type { Guide } from './guide.ts';

/** The policy language, and the relation of users, roles, policies and tags. */
export const policies: Guide = {
  page: 'cloud-policies',
  topic: 'policy-language',
  summary: 'permissions: sub-users, roles, policies, rules and role tags',
  sections: [
    {
      title: 'Description',
      blocks: [
        'The account itself may do everything. A sub-user may do something only when three things come together:',
        {
          terms: [
            [
              'a role',
              'of which the user is a member and which is active for the request: a role of which the user is a default member, or a role that the request names with `--role`',
            ],
            ['a role tag', 'that assigns this role to the resource: to one key, or to the list of all keys'],
            ['a rule', 'in a policy of this role, which allows the action'],
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
        'Each resource needs its own role tag: the list of keys is one resource, each key another. New objects and directories get the role tags of their parent directory. The outputs of a job of a sub-user also get the roles that were active when the job was created. Changes of users, roles and policies can take some seconds to appear in reads; in scripts, give `--wait` to the commands that make the changes.',
      ],
    },
    {
      title: 'Rules',
      blocks: [
        { lines: ['CAN actions', 'CAN actions WHEN conditions'] },
        'Actions are operations in lower case, such as `listkeys`, `getimage` or `putobject`. Separate several with commas, and the last two with `AND`: `getkey, listkeys AND createkey`. `*` in a word matches any characters: `get*`. Write a regular expression between slashes: `/^(get|list)/::regex`. Put words with special characters in double quotation marks.',
        'A rule does not name users or resources. The user is the one who signs the request; the resource is the one in the request, and role tags connect the two.',
      ],
    },
    {
      title: 'Conditions',
      blocks: [
        'A comparison is a name with an optional type, an operator and a value. Combine comparisons with `AND`, `OR`, `NOT` and parentheses.',
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
            ['ip', '= != IN, with an address or a network; IPv6 in quotation marks'],
            ['array', 'CONTAINS'],
          ],
        },
        'The names `date`, `day`, `time`, `sourceip`, `method`, `fromjob`, `user-agent` and `activeroles` need no type. `fromjob` has a value only when a task of a job reads an object.',
      ],
    },
    {
      title: 'Checking',
      blocks: [
        'The service rejects a rule that it cannot parse. `cloud policies check` shows the position of each mistake, without a service, and warns about rules that grant nothing. `cloud policies simulate` shows whether a user may do something, and through which role, policy and rule, or why not. `cloud rbac` keeps a whole account in one document, with role tags of trees under `trees`: `stor/photos: [dev]` applies to the directory and everything in it, and a deeper path takes precedence.',
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
