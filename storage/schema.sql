-- Version 2 of the store: a journal that is folded (compacted). The contents are its changes, applied in the order of id.
CREATE TABLE journal (
  id       INTEGER PRIMARY KEY,  -- order of the entries
  position INTEGER NOT NULL,     -- of the last change that was committed when this was written
  changes  BLOB NOT NULL         -- storage/entry.h
) STRICT;
