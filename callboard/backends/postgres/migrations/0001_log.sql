-- The log: a row in topics for each topic N, the sequence offsets_N, the table records_N and the function append_N.
--
-- The functions keep the search_path they were created under, so they work on their own schema
-- for every caller.

CREATE TABLE IF NOT EXISTS topics (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    identity uuid NOT NULL DEFAULT gen_random_uuid(),
    low bigint NOT NULL DEFAULT 1,                    -- records below it are trimmed, whether dropped yet or not
    room bigint NOT NULL DEFAULT 1,                   -- the end of the newest partition
    partition_size bigint NOT NULL DEFAULT 100000     -- offsets in each partition made from now on
);

CREATE OR REPLACE FUNCTION ensure_topic(topic_name text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    new_id integer;
BEGIN
    IF EXISTS (SELECT FROM topics WHERE name = topic_name) THEN
        RETURN;
    END IF;
    INSERT INTO topics(name) VALUES (topic_name) ON CONFLICT DO NOTHING RETURNING id INTO new_id;
    IF new_id IS NULL THEN
        RETURN;  -- another process was faster
    END IF;
    EXECUTE format('CREATE SEQUENCE offsets_%s', new_id);
    EXECUTE format(
        'CREATE TABLE records_%s (
            off bigint PRIMARY KEY,
            time_ns bigint NOT NULL,
            total bigint NOT NULL,                    -- bytes of headers and payloads up to and with this record
            key bytea,                                -- the sha-256 of the record''s key
            headers bytea NOT NULL,
            payload bytea NOT NULL
        ) PARTITION BY RANGE (off)', new_id);
    -- Payloads are compressed already where that pays: do not try again.
    EXECUTE format('ALTER TABLE records_%s ALTER payload SET STORAGE EXTERNAL', new_id);
    EXECUTE format('CREATE INDEX ON records_%s (key) WHERE key IS NOT NULL', new_id);
    PERFORM make_append(new_id);
END $$;

-- Forgets the topic and all its records. One that is ensured again under the name has another identity.
CREATE OR REPLACE FUNCTION drop_topic(topic_name text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    old_id integer;
BEGIN
    DELETE FROM topics WHERE name = topic_name RETURNING id INTO old_id;
    IF old_id IS NOT NULL THEN
        EXECUTE format('DROP FUNCTION append_%s', old_id);
        EXECUTE format('DROP TABLE records_%s', old_id);
        EXECUTE format('DROP SEQUENCE offsets_%s', old_id);
    END IF;
END $$;

-- Makes partitions until there is room for the offset. To be called under the topic's lock.
CREATE OR REPLACE FUNCTION make_room(topic_id integer, for_offset bigint) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    topic topics;
    name text;
BEGIN
    LOOP
        SELECT * INTO topic FROM topics WHERE id = topic_id;
        EXIT WHEN for_offset < topic.room;
        name := format('records_%s_%s', topic_id, topic.room);
        -- Attaching, other than creating in place, lets readers and a running dump go on.
        EXECUTE format('CREATE TABLE %I (LIKE records_%s INCLUDING ALL)', name, topic_id);
        EXECUTE format('ALTER TABLE records_%s ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                       topic_id, name, topic.room, topic.room + topic.partition_size);
        UPDATE topics SET room = topic.room + topic.partition_size WHERE id = topic_id;
    END LOOP;
END $$;

-- Makes append_N, a function of its own for each topic so that its statements are planned once in a session.
--
-- It writes records, given as arrays, and returns their offsets. keys may be NULL, or hold NULLs, and must not
-- repeat one; for a key that is there already the answer is the offset of its record.
--
-- Offsets are given and committed in one order, because the lock is held from the one to the other: nothing
-- below a committed offset appears later. Each statement in the function begins after the lock was won, and so sees
-- all that was committed under it; one statement that took the lock itself would look for keys in the past.
-- The settings leave the look-up of keys no plan that reads a whole table, however old the statistics are.
CREATE OR REPLACE FUNCTION make_append(topic_id integer) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $make$
BEGIN
    EXECUTE replace($template$
CREATE OR REPLACE FUNCTION append_{id}(time_ns bigint, keys bytea[], headers bytea[], payloads bytea[])
RETURNS bigint[] LANGUAGE plpgsql SET search_path FROM CURRENT
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    topic topics;
    held bigint[];
    offsets bigint[];
    newest bigint;
    total bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'records can only be appended in a transaction that is READ COMMITTED' USING ERRCODE = 'CB001';
    END IF;
    PERFORM pg_advisory_xact_lock(1128419140, {id});  -- CBOD: the locks of callboard in this database
    SELECT * INTO topic FROM topics WHERE id = {id};
    IF keys IS NULL THEN
        offsets := ARRAY(SELECT nextval('offsets_{id}') FROM generate_series(1, cardinality(payloads)));
    ELSE
        held := (
            SELECT array_agg(r.off ORDER BY b.place)
            FROM unnest(keys) WITH ORDINALITY AS b(key, place)
            LEFT JOIN records_{id} r ON r.key = b.key AND r.off >= topic.low);
        offsets := ARRAY(
            SELECT CASE WHEN h IS NULL THEN nextval('offsets_{id}') ELSE h END FROM unnest(held) AS h);
    END IF;
    newest := (SELECT max(o) FROM unnest(offsets) AS o);
    IF newest >= topic.room THEN
        PERFORM make_room({id}, newest);
    END IF;
    total := coalesce((SELECT r.total FROM records_{id} r ORDER BY r.off DESC LIMIT 1), 0);
    INSERT INTO records_{id}
    SELECT b.off, append_{id}.time_ns,
           total + sum(octet_length(b.headers) + octet_length(b.payload)) OVER (ROWS UNBOUNDED PRECEDING),
           b.key, b.headers, b.payload
    FROM unnest(offsets, held, keys, headers, payloads) AS b(off, held, key, headers, payload)
    WHERE b.held IS NULL;
    PERFORM pg_notify(current_schema(), '{id} ' || newest);
    RETURN offsets;
END $$
$template$, '{id}', topic_id::text);
END $make$;

-- Drops the partitions that hold trimmed records only. Where a long reader, such as a dump, keeps one busy
-- it stays until the next trim; waiting for it would hold up everyone else.
CREATE OR REPLACE FUNCTION drop_partitions(topic_id integer) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid, topics t
        WHERE i.inhparent = format('records_%s', topic_id)::regclass AND t.id = topic_id
          AND substring(pg_get_expr(c.relpartbound, c.oid) FROM $x$TO \('(\d+)'\)$x$)::bigint <= t.low
    LOOP
        EXECUTE format('DROP TABLE IF EXISTS %I', name);  -- another trim may have been faster
    END LOOP;
EXCEPTION WHEN lock_not_available THEN
    NULL;
END $$;
