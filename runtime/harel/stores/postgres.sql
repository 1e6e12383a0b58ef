-- The tables and functions of PostgresStore, format 1 (runtime.md section 5). A new format brings its migration.
--
-- A step is one call: the functions hold the compare-and-set and the effects, and the server keeps their plans, even
-- where a pooler stands between and nothing can be prepared by name. A function never changes: a new release adds a
-- `_v2` beside it, and workers of the old release go on. Ids are ordered by bytes, hence the collation.
--
-- `enable_seqscan = off` keeps the plan that a connection made while a table was small from scanning it when it is large;
-- `lock_timeout` bounds how long a step waits for another that holds the record.

CREATE TABLE IF NOT EXISTS {prefix}_meta (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    value text NOT NULL
);

-- Pages are left with room, so that a new record finds place beside the old one and no index is written.
-- The columns beside the record are for filters.
CREATE TABLE IF NOT EXISTS {prefix}_execution (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    version bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    definition_id text COLLATE "C" NOT NULL,
    is_root boolean NOT NULL,
    record text NOT NULL
) WITH (fillfactor = 70);

-- Lists are in order of id; children are passed over in the index, not in the table.
CREATE INDEX IF NOT EXISTS {prefix}_execution_status ON {prefix}_execution (status, id, is_root);

CREATE INDEX IF NOT EXISTS {prefix}_execution_definition ON {prefix}_execution (definition_id, id, is_root);

CREATE INDEX IF NOT EXISTS {prefix}_execution_root ON {prefix}_execution (id) WHERE is_root;

-- rank is minus the depth of the state, so that one ascending index is the order of delivery.
CREATE TABLE IF NOT EXISTS {prefix}_timer (
    execution_id text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    due double precision NOT NULL,
    rank integer NOT NULL,
    arming bigint NOT NULL,
    held boolean NOT NULL,
    PRIMARY KEY (execution_id, path)
);

-- A sweep reads this index from its beginning: O(due), not O(armed).
CREATE INDEX IF NOT EXISTS {prefix}_timer_due ON {prefix}_timer (due, rank, execution_id, path) WHERE NOT held;

CREATE TABLE IF NOT EXISTS {prefix}_processed (
    execution_id text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    at double precision NOT NULL,
    PRIMARY KEY (execution_id, event_id)
);

CREATE INDEX IF NOT EXISTS {prefix}_processed_number ON {prefix}_processed (execution_id, number);

-- What waits is soon gone again: these two are vacuumed by the number of dead rows, not by their share.
CREATE TABLE IF NOT EXISTS {prefix}_outbox (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    source text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    message text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE TABLE IF NOT EXISTS {prefix}_spawn (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    parent_id text COLLATE "C" NOT NULL,
    batch text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- A row goes with the version that its step wrote.
CREATE TABLE IF NOT EXISTS {prefix}_trace (
    execution_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    step text NOT NULL,
    PRIMARY KEY (execution_id, version)
);

CREATE TABLE IF NOT EXISTS {prefix}_definition (
    id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    digest text NOT NULL,
    document text NOT NULL,
    PRIMARY KEY (id, version)
);

-- What a step begins with; the record is NULL where there is none. Three look-ups by key: O(log n).
CREATE OR REPLACE FUNCTION {prefix}_load_step_v1(
    p_id text, p_event_id text, OUT o_record text, OUT o_processed boolean, OUT o_backlog boolean
) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
    SELECT e.record,
        EXISTS (SELECT FROM {prefix}_processed p WHERE p.execution_id = p_id AND p.event_id = p_event_id),
        EXISTS (SELECT FROM {prefix}_outbox) OR EXISTS (SELECT FROM {prefix}_spawn)
    INTO o_record, o_processed, o_backlog
    FROM {prefix}_execution e WHERE e.id = p_id;
END
$$;

-- All that a step changes besides the record; NULL is nothing. Ids from p_oldest or p_last_number on back are forgotten.
-- Only called by the two that follow, under their settings.
CREATE OR REPLACE FUNCTION {prefix}_apply_v1(
    p_id text, p_version bigint,
    p_cancels text[], p_paths text[], p_dues double precision[], p_ranks integer[], p_armings bigint[], p_hold boolean,
    p_forget text, p_event_id text, p_number bigint, p_at double precision,
    p_last_number bigint, p_oldest double precision,
    p_messages text[], p_sources text[], p_targets text[], p_message_texts text[],
    p_batches text[], p_parents text[], p_batch_texts text[],
    p_acks text[], p_spawn_acks text[], p_step text, p_kept_steps bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_cancels IS NOT NULL THEN
        DELETE FROM {prefix}_timer WHERE execution_id = p_id AND path = ANY (p_cancels);
    END IF;
    IF p_paths IS NOT NULL THEN
        INSERT INTO {prefix}_timer (execution_id, path, due, rank, arming, held)
        SELECT p_id, armed.path, armed.due, armed.rank, armed.arming, false
        FROM unnest(p_paths, p_dues, p_ranks, p_armings) AS armed (path, due, rank, arming)
        ON CONFLICT (execution_id, path)
        DO UPDATE SET due = EXCLUDED.due, rank = EXCLUDED.rank, arming = EXCLUDED.arming, held = false;
    END IF;
    IF p_hold IS NOT NULL THEN
        UPDATE {prefix}_timer SET held = p_hold WHERE execution_id = p_id AND held <> p_hold;
    END IF;
    IF p_forget IS NOT NULL THEN
        DELETE FROM {prefix}_processed WHERE execution_id = p_id AND event_id = p_forget;
    END IF;
    IF p_event_id IS NOT NULL THEN
        INSERT INTO {prefix}_processed (execution_id, event_id, number, at) VALUES (p_id, p_event_id, p_number, p_at)
        ON CONFLICT (execution_id, event_id) DO UPDATE SET number = EXCLUDED.number, at = EXCLUDED.at;
    END IF;
    IF p_oldest IS NOT NULL THEN
        -- All before the first that is kept: O(forgotten).
        DELETE FROM {prefix}_processed WHERE execution_id = p_id AND number < (
            SELECT kept.number FROM {prefix}_processed kept
            WHERE kept.execution_id = p_id AND kept.number > p_last_number AND kept.at >= p_oldest
            ORDER BY kept.number LIMIT 1
        );
    END IF;
    IF p_messages IS NOT NULL THEN
        INSERT INTO {prefix}_outbox (id, source, target, message)
        SELECT emitted.id, emitted.source, emitted.target, emitted.message
        FROM unnest(p_messages, p_sources, p_targets, p_message_texts) WITH ORDINALITY
            AS emitted (id, source, target, message, place)
        ORDER BY emitted.place
        ON CONFLICT (id) DO NOTHING;
    END IF;
    IF p_batches IS NOT NULL THEN
        INSERT INTO {prefix}_spawn (id, parent_id, batch)
        SELECT spawned.id, spawned.parent_id, spawned.batch
        FROM unnest(p_batches, p_parents, p_batch_texts) WITH ORDINALITY AS spawned (id, parent_id, batch, place)
        ORDER BY spawned.place
        ON CONFLICT (id) DO NOTHING;
    END IF;
    IF p_acks IS NOT NULL THEN
        DELETE FROM {prefix}_outbox WHERE id = ANY (p_acks);
    END IF;
    IF p_spawn_acks IS NOT NULL THEN
        DELETE FROM {prefix}_spawn WHERE id = ANY (p_spawn_acks);
    END IF;
    IF p_step IS NOT NULL THEN
        INSERT INTO {prefix}_trace (execution_id, version, step) VALUES (p_id, p_version, p_step)
        ON CONFLICT (execution_id, version) DO UPDATE SET step = EXCLUDED.step;
        -- O(kept rows).
        DELETE FROM {prefix}_trace WHERE execution_id = p_id AND version <= (
            SELECT kept.version FROM {prefix}_trace kept WHERE kept.execution_id = p_id
            ORDER BY kept.version DESC OFFSET p_kept_steps LIMIT 1
        );
    END IF;
END
$$;

-- The compare-and-set with all its effects: `done`, or `lost` or `gone` and nothing is written.
CREATE OR REPLACE FUNCTION {prefix}_commit_v1(
    p_id text, p_expected bigint, p_version bigint, p_status text, p_record text,
    p_cancels text[], p_paths text[], p_dues double precision[], p_ranks integer[], p_armings bigint[], p_hold boolean,
    p_forget text, p_event_id text, p_number bigint, p_at double precision,
    p_last_number bigint, p_oldest double precision,
    p_messages text[], p_sources text[], p_targets text[], p_message_texts text[],
    p_batches text[], p_parents text[], p_batch_texts text[],
    p_acks text[], p_spawn_acks text[], p_step text, p_kept_steps bigint
) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '30s' AS $$
BEGIN
    UPDATE {prefix}_execution SET version = p_version, status = p_status, record = p_record
    WHERE id = p_id AND version = p_expected;
    IF NOT FOUND THEN
        RETURN CASE WHEN EXISTS (SELECT FROM {prefix}_execution WHERE id = p_id) THEN 'lost' ELSE 'gone' END;
    END IF;
    PERFORM {prefix}_apply_v1(
        p_id, p_version, p_cancels, p_paths, p_dues, p_ranks, p_armings, p_hold,
        p_forget, p_event_id, p_number, p_at, p_last_number, p_oldest,
        p_messages, p_sources, p_targets, p_message_texts, p_batches, p_parents, p_batch_texts,
        p_acks, p_spawn_acks, p_step, p_kept_steps
    );
    RETURN 'done';
END
$$;

-- A new record with all its effects: `done`, or `taken` and nothing is written.
CREATE OR REPLACE FUNCTION {prefix}_create_v1(
    p_id text, p_version bigint, p_status text, p_definition_id text, p_is_root boolean, p_record text,
    p_cancels text[], p_paths text[], p_dues double precision[], p_ranks integer[], p_armings bigint[], p_hold boolean,
    p_forget text, p_event_id text, p_number bigint, p_at double precision,
    p_last_number bigint, p_oldest double precision,
    p_messages text[], p_sources text[], p_targets text[], p_message_texts text[],
    p_batches text[], p_parents text[], p_batch_texts text[],
    p_acks text[], p_spawn_acks text[], p_step text, p_kept_steps bigint
) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '30s' AS $$
BEGIN
    INSERT INTO {prefix}_execution (id, version, status, definition_id, is_root, record)
    VALUES (p_id, p_version, p_status, p_definition_id, p_is_root, p_record)
    ON CONFLICT (id) DO NOTHING;
    IF NOT FOUND THEN
        RETURN 'taken';
    END IF;
    PERFORM {prefix}_apply_v1(
        p_id, p_version, p_cancels, p_paths, p_dues, p_ranks, p_armings, p_hold,
        p_forget, p_event_id, p_number, p_at, p_last_number, p_oldest,
        p_messages, p_sources, p_targets, p_message_texts, p_batches, p_parents, p_batch_texts,
        p_acks, p_spawn_acks, p_step, p_kept_steps
    );
    RETURN 'done';
END
$$;

-- By key, but for messages: O(waiting messages). The records first, as a step does, so that the two queue up.
CREATE OR REPLACE FUNCTION {prefix}_purge_v1(p_ids text[])
RETURNS void LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '30s' AS $$
BEGIN
    DELETE FROM {prefix}_execution WHERE id = ANY (p_ids);
    DELETE FROM {prefix}_timer WHERE execution_id = ANY (p_ids);
    DELETE FROM {prefix}_processed WHERE execution_id = ANY (p_ids);
    DELETE FROM {prefix}_outbox WHERE source = ANY (p_ids) OR target = ANY (p_ids);
    DELETE FROM {prefix}_spawn WHERE parent_id = ANY (p_ids);
    DELETE FROM {prefix}_trace WHERE execution_id = ANY (p_ids);
END
$$;

INSERT INTO {prefix}_meta (name, value) VALUES ('format', '1'), ('release', '{release}') ON CONFLICT (name) DO NOTHING;
