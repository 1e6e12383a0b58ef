"""The SQL of a store on SQLite, each statement with its name and its cost. It executes nothing."""

from __future__ import annotations

from .names import checked_prefix


class Statements:
    """The statements for tables of one prefix. n is the number of executions, unless it is said otherwise."""

    def __init__(self, prefix: str) -> None:
        self.prefix = checked_prefix(prefix)
        execution, timer, processed = f"{prefix}_execution", f"{prefix}_timer", f"{prefix}_processed"
        outbox, spawn, trace = f"{prefix}_outbox", f"{prefix}_spawn", f"{prefix}_trace"
        definition = f"{prefix}_definition"
        gone = "SELECT value FROM json_each(?1)"

        self.meta = f"SELECT name, value FROM {prefix}_meta"

        # A step: one look-up by key, then one write by key and one insert per effect: O(log n).
        self.load = f"SELECT record FROM {execution} WHERE id = ?1"
        self.load_step = (
            f"SELECT record, EXISTS (SELECT 1 FROM {processed} WHERE execution_id = ?1 AND event_id = ?2), "
            f"EXISTS (SELECT 1 FROM {outbox}) OR EXISTS (SELECT 1 FROM {spawn}) FROM {execution} WHERE id = ?1"
        )
        self.create = (
            f"INSERT INTO {execution} (id, version, status, definition_id, is_root, record) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        )
        # First as if the status stayed, which writes no index; then with a new status, which does.
        self.replace = (
            f"UPDATE {execution} SET version = ?3, record = ?4 WHERE id = ?1 AND version = ?2 AND status = ?5"
        )
        self.replace_status = (
            f"UPDATE {execution} SET version = ?3, record = ?4, status = ?5 WHERE id = ?1 AND version = ?2"
        )
        self.is_processed = f"SELECT 1 FROM {processed} WHERE execution_id = ?1 AND event_id = ?2"
        self.remember = (
            f"INSERT OR REPLACE INTO {processed} (execution_id, event_id, number, at) VALUES (?1, ?2, ?3, ?4)"
        )
        self.forget = f"DELETE FROM {processed} WHERE execution_id = ?1 AND event_id = ?2"
        # All before the first that is kept: O(forgotten).
        self.trim_processed = (
            f"DELETE FROM {processed} WHERE execution_id = ?1 AND number < (SELECT number FROM {processed} "
            "WHERE execution_id = ?1 AND number > ?2 AND at >= ?3 ORDER BY number LIMIT 1)"
        )
        self.append_trace = f"INSERT OR REPLACE INTO {trace} (execution_id, version, step) VALUES (?1, ?2, ?3)"
        # O(kept rows).
        self.trim_trace = (
            f"DELETE FROM {trace} WHERE execution_id = ?1 AND version <= (SELECT version FROM {trace} "
            "WHERE execution_id = ?1 ORDER BY version DESC LIMIT 1 OFFSET ?2)"
        )
        self.read_trace = f"SELECT step FROM {trace} WHERE execution_id = ?1 ORDER BY version"

        # Timers.
        self.arm = (
            f"INSERT OR REPLACE INTO {timer} (execution_id, path, due, rank, arming, held) "
            "VALUES (?1, ?2, ?3, ?4, ?5, 0)"
        )
        self.cancel = f"DELETE FROM {timer} WHERE execution_id = ?1 AND path = ?2"
        self.hold = f"UPDATE {timer} SET held = ?2 WHERE execution_id = ?1"
        # O(due): the index of timers not held, from the cursor to now.
        self.due_timers = (
            f"SELECT execution_id, path, due, arming FROM {timer} WHERE held = 0 AND due <= ?1 "
            "AND (due, rank, execution_id, path) > (?2, ?3, ?4, ?5) ORDER BY due, rank, execution_id, path LIMIT ?6"
        )
        self.timers = (
            f"SELECT execution_id, path, due, arming FROM {timer} WHERE execution_id = ?1 AND path <> '' "
            "ORDER BY due, rank, path"
        )

        # Messages and batches of children, in the order they were committed: O(page).
        self.emit = f"INSERT OR IGNORE INTO {outbox} (id, source, target, message) VALUES (?1, ?2, ?3, ?4)"
        self.ack_outbox = f"DELETE FROM {outbox} WHERE id = ?1"
        self.pending_outbox = (
            f"SELECT message FROM {outbox} WHERE seq > ifnull((SELECT seq FROM {outbox} WHERE id = ?1), 0) "
            "ORDER BY seq LIMIT ?2"
        )
        self.spawn = f"INSERT OR IGNORE INTO {spawn} (id, parent_id, batch) VALUES (?1, ?2, ?3)"
        self.ack_spawn = f"DELETE FROM {spawn} WHERE id = ?1"
        self.pending_spawns = (
            f"SELECT batch FROM {spawn} WHERE seq > ifnull((SELECT seq FROM {spawn} WHERE id = ?1), 0) "
            "ORDER BY seq LIMIT ?2"
        )

        # O(page) in the index of the filter; `filters` are conditions of `list_filters`.
        self._list = f"SELECT record FROM {execution} WHERE id > ? {{filters}}ORDER BY id LIMIT ?"
        self.ids_from = f"SELECT id FROM {execution} WHERE id >= ?1 ORDER BY id"
        self.ids_between = f"SELECT id FROM {execution} WHERE id >= ?1 AND id < ?2 ORDER BY id"

        # ?1 is a JSON list of ids. By key, but for messages: O(waiting messages).
        self.purge = (
            f"DELETE FROM {outbox} WHERE source IN ({gone}) OR target IN ({gone})",
            f"DELETE FROM {spawn} WHERE parent_id IN ({gone})",
            f"DELETE FROM {timer} WHERE execution_id IN ({gone})",
            f"DELETE FROM {processed} WHERE execution_id IN ({gone})",
            f"DELETE FROM {trace} WHERE execution_id IN ({gone})",
            f"DELETE FROM {execution} WHERE id IN ({gone})",
        )

        self.publish = f"INSERT OR IGNORE INTO {definition} (id, version, digest, document) VALUES (?1, ?2, ?3, ?4)"
        self.digest = f"SELECT digest FROM {definition} WHERE id = ?1 AND version = ?2"
        self.load_definition = f"SELECT document FROM {definition} WHERE id = ?1 AND version = ?2"
        self.list_definitions = f"SELECT id, version, digest FROM {definition} ORDER BY id, version"

    def list_executions(self, *, status: bool, definition: bool, roots: bool) -> str:
        """The page of a list; parameters: the cursor, the status and the definition if filtered by, the limit."""
        filters = ("AND status = ? ", status), ("AND definition_id = ? ", definition), ("AND is_root = 1 ", roots)
        return self._list.format(filters="".join(text for text, wanted in filters if wanted))
