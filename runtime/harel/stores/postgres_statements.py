"""The SQL of a store on Postgres, each statement with its name and its cost. It executes nothing.

What a step runs are functions, which stand in `postgres.sql`; here they are called.
"""

from __future__ import annotations

from .names import checked_prefix


class Statements:
    """The statements for tables of one prefix; parameters are `%s`. n is the number of executions."""

    def __init__(self, prefix: str) -> None:
        self.prefix = checked_prefix(prefix)
        execution, timer, processed = f"{prefix}_execution", f"{prefix}_timer", f"{prefix}_processed"
        outbox, spawn, definition = f"{prefix}_outbox", f"{prefix}_spawn", f"{prefix}_definition"

        self.meta = f"SELECT name, value FROM {prefix}_meta"
        self.is_made = f"SELECT to_regprocedure('{prefix}_load_step_v1(text,text)') IS NOT NULL"
        self.lock = f"SELECT pg_advisory_xact_lock(hashtextextended('{prefix} schema', 0))"

        # A step: one look-up by key, then one write by key and one insert per effect: O(log n).
        self.load = f"SELECT record FROM {execution} WHERE id = %s"
        self.load_step = f"SELECT * FROM {prefix}_load_step_v1(%s, %s)"
        effects = (
            "%s::text[], %s::text[], %s::float8[], %s::int[], %s::bigint[], %s, %s, %s, %s, %s, %s, %s, "
            "%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], "
            "%s::text[], %s::text[], %s, %s"
        )
        self.commit = f"SELECT {prefix}_commit_v1(%s, %s, %s, %s, %s, {effects})"
        self.create = f"SELECT {prefix}_create_v1(%s, %s, %s, %s, %s, %s, {effects})"
        self.is_processed = f"SELECT 1 FROM {processed} WHERE execution_id = %s AND event_id = %s"
        self.read_trace = f"SELECT step FROM {prefix}_trace WHERE execution_id = %s ORDER BY version"

        # O(due): the index of timers not held, from the cursor to now.
        self.due_timers = (
            f"SELECT execution_id, path, due, arming FROM {timer} WHERE NOT held AND due <= %s "
            "AND (due, rank, execution_id, path) > (%s, %s, %s, %s) ORDER BY due, rank, execution_id, path LIMIT %s"
        )
        self.timers = (
            f"SELECT execution_id, path, due, arming FROM {timer} WHERE execution_id = %s AND path <> '' "
            "ORDER BY due, rank, path"
        )

        # Messages and batches of children, in the order they were committed: O(page).
        self.ack_outbox = f"DELETE FROM {outbox} WHERE id = %s RETURNING 1"
        self.pending_outbox = (
            f"SELECT message FROM {outbox} WHERE seq > coalesce((SELECT seq FROM {outbox} WHERE id = %s), 0) "
            "ORDER BY seq LIMIT %s"
        )
        self.ack_spawn = f"DELETE FROM {spawn} WHERE id = %s RETURNING 1"
        self.pending_spawns = (
            f"SELECT batch FROM {spawn} WHERE seq > coalesce((SELECT seq FROM {spawn} WHERE id = %s), 0) "
            "ORDER BY seq LIMIT %s"
        )

        # O(page) in the index of the filter; `filters` are conditions of `list_executions`.
        self._list = f"SELECT record FROM {execution} WHERE id > %s {{filters}}ORDER BY id LIMIT %s"
        self.ids_from = f"SELECT id FROM {execution} WHERE id >= %s ORDER BY id"
        self.ids_between = f"SELECT id FROM {execution} WHERE id >= %s AND id < %s ORDER BY id"

        self.purge = f"SELECT {prefix}_purge_v1(%s::text[])"

        self.publish = (
            f"INSERT INTO {definition} (id, version, digest, document) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT (id, version) DO NOTHING RETURNING digest"
        )
        self.digest = f"SELECT digest FROM {definition} WHERE id = %s AND version = %s"
        self.load_definition = f"SELECT document FROM {definition} WHERE id = %s AND version = %s"
        self.list_definitions = f"SELECT id, version, digest FROM {definition} ORDER BY id, version"

    def list_executions(self, *, status: bool, definition: bool, roots: bool) -> str:
        """The page of a list; parameters: the cursor, the status and the definition if filtered by, the limit."""
        filters = ("AND status = %s ", status), ("AND definition_id = %s ", definition), ("AND is_root ", roots)
        return self._list.format(filters="".join(text for text, wanted in filters if wanted))
