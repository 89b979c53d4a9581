-- The repositories: entries in a tree, and the content of files in chunks.
--
-- Paths are bytes, so that neither the database's encoding nor its collation has a say in them, and longer
-- than an index takes: one finds them by their digest, the other those below a folder by a prefix.

CREATE TABLE IF NOT EXISTS repositories (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    ledger bytea NOT NULL DEFAULT ''
);

CREATE TABLE IF NOT EXISTS entries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    repository integer NOT NULL REFERENCES repositories ON DELETE CASCADE,
    path bytea NOT NULL,
    kind smallint NOT NULL,
    mode smallint NOT NULL,
    size bigint NOT NULL DEFAULT 0,
    target bytea NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX IF NOT EXISTS entries_by_path ON entries (repository, sha256(path));
CREATE INDEX IF NOT EXISTS entries_by_prefix ON entries (repository, substring(path FROM 1 FOR 1000));

CREATE TABLE IF NOT EXISTS chunks (
    entry bigint NOT NULL REFERENCES entries ON DELETE CASCADE,
    number integer NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (entry, number)
);
ALTER TABLE chunks ALTER data SET STORAGE EXTERNAL;
