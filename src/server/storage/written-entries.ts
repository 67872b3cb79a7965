import { sql, type Kysely, type RawBuilder } from 'kysely';
import { isPostgres } from '../store/engine-of.ts';
import type { Schema } from '../store/schema.ts';

/**
 * Records of a listing (section 8 of the storage document, `Entry`), serialised by the database: converting rows to objects and objects to
 * text costs three times as much as reading the rows. The expressions use the columns of `entries`; a page is one text with one record per
 * line.
 */

const time = sql`strftime('%Y-%m-%dT%H:%M:%fZ', mtime / 1000.0, 'unixepoch')`;

const object = sql`'name', name, 'type', type, 'mtime', ${time}, 'etag', etag, 'size', size,
  'contentType', headers ->> 'content-type', 'contentMD5', md5, 'durability', copies`;

const disposition = sql`headers ->> 'content-disposition'`;

// `json_patch` removes null values; it costs as much as the record.
const page = sql<Uint8Array>`cast(group_concat(case
  when type = 'directory' then json_object('name', name, 'type', type, 'mtime', ${time})
  when ${disposition} is null and headers ->> 'content-type' is not null then json_object(${object})
  else json_patch('{}', json_object(${object}, 'contentDisposition', ${disposition}))
  end || char(10), '') as blob)`;

const postgresTime = sql`to_char(to_timestamp(mtime / 1000.0) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const postgresPage = sql<Uint8Array>`convert_to(string_agg(cast(case
  when type = 'directory' then json_build_object('name', name, 'type', type, 'mtime', ${postgresTime})
  else json_strip_nulls(json_build_object('name', name, 'type', type, 'mtime', ${postgresTime}, 'etag', etag, 'size', size,
    'contentType', cast(headers as json) ->> 'content-type', 'contentMD5', md5, 'durability', copies,
    'contentDisposition', cast(headers as json) ->> 'content-disposition'))
  end as text) || chr(10), ''), 'UTF8')`;

/** A page as UTF-8, in the order of the rows; null if there are none. */
export function writtenPage(db: Kysely<Schema>): RawBuilder<Uint8Array | null> {
  return isPostgres(db) ? postgresPage : page;
}
