import type { Guide } from './guide.ts';

/** The section on growth in the guide to clusters; the figures are those of test/bench/README.md. */
export const growth: Guide['sections'][number] = {
  title: 'Growth',
  blocks: [
    'What it costs, measured with objects of 100 bytes in directories of 1000, one content of 100 a file, on 2026-11-23: two gateways in one process, 32 requests at once and a round trip to PostgreSQL that is 2 ms longer, all on a machine of two cores that did other work too. `npm run bench` measures it anew. A part of the time is that of signatures, which no database changes.',
    {
      terms: [
        ['10,000 objects', 'PUT 224/s, GET 823/s, listings of 1000 entries 72/s.'],
        ['100,000 objects', 'PUT 319/s, GET 906/s, listings 83/s.'],
        ['1,000,000 objects', 'PUT 219/s, GET 450/s, listings 48/s.'],
        [
          'A million objects',
          '1 GB of the database: 274 MB of entries with 471 MB of indexes, and contents in rows 174 MB with 88 MB, more as they are longer than 100 bytes. Indexes grow with the length of paths.',
        ],
        [
          'The collector',
          '12 to 35 s for a million objects each time it looks through all contents, every six hours by one of the gateways. What was deleted it finds by notes, without looking through anything.',
        ],
        [
          'A thousand requests a second',
          'By these figures the work of one to two such machines for GET, three to five for PUT. Start gateways until the primary has no more to give.',
        ],
      ],
    },
    'Three things do not grow with the number of gateways, and the first of them to be reached depends on the work:',
    {
      terms: [
        [
          'A directory',
          'It has at most 1,000,000 entries. Who creates in it waits for nobody else who does; the PUTs above were all in one. Spread objects over directories all the same: listings are read a page after the other.',
        ],
        [
          'The primary',
          'Every write is committed there, and every read asks it, since a standby may lag behind what was acknowledged. Where objects are small it is the first ceiling. Faster disks for its log and a shorter way to it help immediately.',
        ],
        [
          'The collector',
          'One at a time, eight contents at once. Where more is deleted than it removes, `cloud server status` shows more and more contents that wait. Nothing fails; they take room.',
        ],
      ],
    },
    'A second primary is not built. What it would need is known, because rows of the object storage are found by `(parent, name)`: a hash of the parent chooses the database, and lookup, PUT, DELETE and listing of a directory stay in one. Accounts, keys, users, roles and policies are few and stay in the first one; a job is in one by its id, an upload in that of its target.',
    {
      terms: [
        [
          'Directories',
          'The row of a directory is with its parent, its entries elsewhere. So each directory needs a mark beside its entries, which writers lock as they lock its row now. `mkdir` makes the mark first and the row second.',
        ],
        [
          'rmdir',
          'It locks the mark for itself alone, looks that nothing is there, says on the mark that the directory ends, removes the row, then the mark. Writers that find such a mark are refused; one that a crash left is finished by the collector.',
        ],
        [
          'Links',
          'Two entries share a content and may be in two databases, so that neither can tell whether it was the last. References need a table of their own by the id of the content: noted before the entry is written, removed after it is gone, and looked at by the collector, which removes what has none.',
        ],
      ],
    },
  ],
};
