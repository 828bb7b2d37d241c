package archive

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// versions are the steps from one form of the tables to the next. A step that was
// released does not change. BLOB is BYTEA in PostgreSQL. Times are ns since 1970.
var versions = []string{
	`CREATE TABLE closing (
		uid TEXT NOT NULL, node TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL,
		ended_at BIGINT NOT NULL, confirmed INTEGER NOT NULL, size BIGINT NOT NULL, answer BLOB NOT NULL,
		PRIMARY KEY (uid, node));
	CREATE INDEX closing_name ON closing (namespace, name, ended_at);
	CREATE INDEX closing_owner ON closing (namespace, owner, ended_at);
	CREATE INDEX closing_age ON closing (ended_at);
	CREATE TABLE mark (node TEXT PRIMARY KEY, id BIGINT NOT NULL, seen BIGINT NOT NULL)`,
}

// lock is a number of ours among PostgreSQL's advisory locks: several fronts may begin at
// the same time.
const lock = 7261947

// migrate brings the tables up to date, each step as a whole.
func migrate(ctx context.Context, db *sql.DB, postgres bool) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if postgres {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", lock)); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS version (number INTEGER NOT NULL)"); err != nil {
		return err
	}
	var have int
	if err := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(number), 0) FROM version").Scan(&have); err != nil {
		return err
	}
	if have > len(versions) {
		return fmt.Errorf("its tables are of version %d, and this front knows up to %d", have, len(versions))
	}
	for i, step := range versions[have:] {
		if postgres {
			step = strings.ReplaceAll(step, "BLOB", "BYTEA")
		}
		for _, statement := range strings.Split(step, ";") {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO version (number) VALUES (%d)", have+i+1)); err != nil {
			return err
		}
	}
	return tx.Commit()
}
