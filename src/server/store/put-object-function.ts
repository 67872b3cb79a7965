import { sql } from 'kysely';
import { onPostgres } from './cluster-tables.ts';

const definition = sql`create function put_object(
  moment timestamptz, own_lease text, of_login text, in_parent text, in_name text, above_parent text, above_name text, most_children bigint,
  tags text, is_bound boolean, seen_etag text, seen_mtime bigint, most_bytes bigint, most_objects bigint,
  new_etag text, new_mtime bigint, new_size bigint, new_md5 text, new_content text, new_copies bigint, new_headers text, new_bytes bytea
) returns integer language plpgsql volatile as $$
declare
  above record;
  was record;
  is_new boolean;
  is_done boolean := false;
  more_bytes bigint;
  more_objects bigint;
  used record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then return null; end if;
  if own_lease is not null then
    perform from gateways where id = own_lease and until > moment for key share;
    if not found then return null; end if;
  end if;
  select type, role_tags, children into above from entries where parent = above_parent and name = above_name for key share;
  if not found or above.type <> 'directory' then return null; end if;

  for attempt in 1..3 loop
    select type, etag, mtime, size, content, role_tags into was from entries where parent = in_parent and name = in_name for no key update;
    is_new := not found;
    if is_bound and (case when is_new then null else was.etag end) is distinct from seen_etag then return null; end if;
    if is_new then
      if above.role_tags <> tags or above.children >= most_children then return null; end if;
    else
      if was.type <> 'object' or was.role_tags <> tags or was.content like 'pieces/%' then return null; end if;
      if is_bound and was.mtime <> seen_mtime then return null; end if;
    end if;

    more_bytes := new_size - case when is_new then 0 else coalesce(was.size, 0) end;
    more_objects := case when is_new then 1 else 0 end;
    if (more_bytes > 0 and most_bytes is not null) or (more_objects > 0 and most_objects is not null) then
      select coalesce(sum(bytes), 0) as bytes, coalesce(sum(objects), 0) as objects into used from (
        select login, bytes, objects from storage_usage union all select login, bytes, objects from usage_changes
      ) as parts where login = of_login;
      if more_bytes > 0 and used.bytes + more_bytes > most_bytes then return null; end if;
      if more_objects > 0 and used.objects + more_objects > most_objects then return null; end if;
    end if;

    if is_new then
      insert into entries (parent, name, type, etag, mtime, size, md5, content, copies, headers, role_tags, children)
      values (in_parent, in_name, 'object', new_etag, new_mtime, new_size, new_md5, new_content, new_copies, new_headers, tags, 0)
      on conflict do nothing;
      is_done := found;
      -- Otherwise another one was faster, and is replaced.
      if is_done then
        insert into count_changes (parent, name, change) values (above_parent, above_name, 1);
      end if;
    else
      update entries set etag = new_etag, mtime = new_mtime, size = new_size, md5 = new_md5, content = new_content, copies = new_copies,
        headers = new_headers where parent = in_parent and name = in_name;
      is_done := true;
    end if;
    exit when is_done;
  end loop;
  if not is_done then return null; end if;
  if new_bytes is not null then
    insert into contents (id, bytes) values (new_content, new_bytes);
  end if;

  -- What only this entry had is over, as by releaseContents.
  if is_new or was.content is null or was.content like 'inline/%' then return 0; end if;
  if exists (select from entries where content = was.content) or exists (select from pieces where pieces.bytes = was.content)
    or exists (select from images where content = was.content) then
    if was.content not like 'row/%' then return 0; end if;
    -- Of two that take the last names one comes after the other.
    update contents set id = id where id = was.content;
    if exists (select from entries where content = was.content) or exists (select from pieces where pieces.bytes = was.content)
      or exists (select from images where content = was.content) then return 0; end if;
  end if;
  if was.content like 'row/%' then
    delete from contents where id = was.content;
    return 0;
  end if;
  insert into garbage (bytes, noted) values (was.content, moment)
  on conflict (bytes) do update set noted = excluded.noted, seen = null;
  return 1;
end $$`;

/**
 * Migration step: a function that writes an object in one statement, which is a transaction of its own (`postgres/put-object.ts`). A
 * gateway would otherwise wait for the database once per query. Each query of the function sees everything committed before it, as in a
 * READ COMMITTED transaction, and the locks are taken in the same order: the lease, the directory, the entry.
 *
 * The function returns null, and has written nothing, if anything differs from what the gateway has read and based its decision on, or if
 * more is needed than it can do. The gateway then does the same in a transaction, which also reports what is wrong. Otherwise the function
 * returns how many contents were left to the collector.
 *
 * A later release that needs another function adds it under another name: this one serves gateways of this release.
 */
export const createPutObject = onPostgres(definition);
