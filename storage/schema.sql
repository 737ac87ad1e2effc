-- Version 1 of the store. Contents = record, with journal applied in position order.
CREATE TABLE journal (
  position INTEGER PRIMARY KEY,  -- given by the store; see folded
  op       INTEGER NOT NULL,     -- Op in storage/change.h
  tbl      INTEGER NOT NULL,     -- Table in core/store.h
  key      TEXT NOT NULL,
  value    BLOB,                 -- put and begin
  phase    INTEGER NOT NULL      -- begin and advance, else 0
) STRICT;

-- A rowid table: values are often larger than half a page.
CREATE TABLE record (
  id    INTEGER PRIMARY KEY,
  tbl   INTEGER NOT NULL,
  key   TEXT NOT NULL,
  value BLOB NOT NULL,
  phase INTEGER NOT NULL,
  UNIQUE (tbl, key)
) STRICT;

-- One row: the last position that left the journal. Keeps positions growing without AUTOINCREMENT, whose
-- bookkeeping would write one more page in every commit.
CREATE TABLE folded (position INTEGER NOT NULL) STRICT;
INSERT INTO folded VALUES (0);
