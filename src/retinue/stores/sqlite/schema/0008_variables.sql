-- Encrypted values of accounts: the key is not in the database.

CREATE TABLE variables (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    sealed TEXT NOT NULL,
    PRIMARY KEY (owner, name)
) WITHOUT ROWID;
