import type { Guide } from './guide.ts';

/** The section on growth in the guide to clusters; the figures are those of test/bench/README.md. */
export const growth: Guide['sections'][number] = {
  title: 'Growth',
  blocks: [
    'Measured with objects of 100 bytes in directories of 1000, with one content of 100 stored as a file, on 2026-11-23: two gateways in one process, 32 concurrent requests and 2 ms of added round-trip time to PostgreSQL, all on a machine with two cores and other load. `npm run bench` repeats the measurement. Part of the time is for signatures, which do not depend on the database.',
    {
      terms: [
        ['10,000 objects', 'PUT 224/s, GET 823/s, listings of 1000 entries 72/s.'],
        ['100,000 objects', 'PUT 319/s, GET 906/s, listings 83/s.'],
        ['1,000,000 objects', 'PUT 219/s, GET 450/s, listings 48/s.'],
        [
          'A million objects',
          '1 GB in the database: 274 MB of entries with 471 MB of indexes, and 174 MB of contents in rows with 88 MB of indexes; larger contents take more. Indexes grow with the length of paths.',
        ],
        [
          'The collector',
          '12 to 35 s for a million objects to scan all contents, once in six hours on one of the gateways. Deleted contents are found by notes, without a scan.',
        ],
        [
          'A thousand requests a second',
          'By these figures, one to two such machines for GET, three to five for PUT. Add gateways until the primary is at its limit.',
        ],
      ],
    },
    'Three things do not scale with the number of gateways. The workload decides which of them is the first limit:',
    {
      terms: [
        [
          'A directory',
          'A directory has at most 1,000,000 entries. Concurrent creations in one directory do not wait for each other; the PUTs above were all in one. Still, spread objects over directories, because the pages of a listing are read one after the other.',
        ],
        [
          'The primary',
          'Every write commits on the primary, and every read queries it, because a standby may lag behind acknowledged changes. With small objects it is the first limit. Faster disks for its log and lower latency to it help immediately.',
        ],
        [
          'The collector',
          'One collector runs at a time and removes eight contents concurrently. If objects are deleted faster, `cloud server status` shows a growing number of contents that wait. Nothing fails; they only use space.',
        ],
      ],
    },
    'A second primary is not implemented. The design is known, because rows of the object storage are found by `(parent, name)`: a hash of the parent selects the database, and lookup, PUT, DELETE and listing of a directory stay in one database. Accounts, keys, users, roles and policies are few and stay in the first one. A job is in the database that its id selects, an upload in that of its target.',
    {
      terms: [
        [
          'Directories',
          'The row of a directory is in the database of its parent; its entries are in another. So each directory needs a marker beside its entries, which writers lock as they lock its row now. `mkdir` creates the marker first and the row second.',
        ],
        [
          'rmdir',
          '`rmdir` takes an exclusive lock on the marker, checks that the directory is empty, records on the marker that the directory is being removed, deletes the row, then the marker. Writers that find such a marker fail; the collector finishes a removal that a crash interrupted.',
        ],
        [
          'Links',
          'Two entries that share a content may be in two databases, so that neither knows which entry is the last. References need their own table by content id: a reference is written before the entry and removed after it. The collector removes contents without references.',
        ],
      ],
    },
  ],
};
