-- The tables of SqliteStore, format 1 (runtime.md section 5). A new format brings its migration.

CREATE TABLE IF NOT EXISTS {prefix}_meta (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- A rowid table: records are too long to stand in the tree of the key. The columns beside the record are for filters.
CREATE TABLE IF NOT EXISTS {prefix}_execution (
    id TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    status TEXT NOT NULL,
    definition_id TEXT NOT NULL,
    is_root INTEGER NOT NULL,
    record TEXT NOT NULL
);

-- Lists are in order of id; children are passed over in the index, not in the table.
CREATE INDEX IF NOT EXISTS {prefix}_execution_status ON {prefix}_execution (status, id, is_root);

CREATE INDEX IF NOT EXISTS {prefix}_execution_definition ON {prefix}_execution (definition_id, id, is_root);

CREATE INDEX IF NOT EXISTS {prefix}_execution_root ON {prefix}_execution (id) WHERE is_root = 1;

-- rank is minus the depth of the state, so that one ascending index is the order of delivery.
CREATE TABLE IF NOT EXISTS {prefix}_timer (
    execution_id TEXT NOT NULL,
    path TEXT NOT NULL,
    due REAL NOT NULL,
    rank INTEGER NOT NULL,
    arming INTEGER NOT NULL,
    held INTEGER NOT NULL,
    PRIMARY KEY (execution_id, path)
) WITHOUT ROWID;

-- A sweep reads this index alone, from its beginning: O(due), not O(armed).
CREATE INDEX IF NOT EXISTS {prefix}_timer_due ON {prefix}_timer (due, rank, execution_id, path, arming, held)
    WHERE held = 0;

CREATE TABLE IF NOT EXISTS {prefix}_processed (
    execution_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (execution_id, event_id)
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS {prefix}_processed_number ON {prefix}_processed (execution_id, number);

CREATE TABLE IF NOT EXISTS {prefix}_outbox (
    seq INTEGER NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    message TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS {prefix}_spawn (
    seq INTEGER NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    parent_id TEXT NOT NULL,
    batch TEXT NOT NULL
);

-- A row goes with the version that its step wrote.
CREATE TABLE IF NOT EXISTS {prefix}_trace (
    execution_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    step TEXT NOT NULL,
    PRIMARY KEY (execution_id, version)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS {prefix}_definition (
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (id, version)
);

INSERT OR IGNORE INTO {prefix}_meta (name, value) VALUES ('format', '1'), ('release', '{release}');
