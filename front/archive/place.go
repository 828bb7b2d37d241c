package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver sqlite
)

// errUnverified refuses a connection on which a password and all answers could be read.
var errUnverified = errors.New("the archive's server is not verified: add sslmode=verify-full to its DSN (and sslrootcert=FILE for a private authority), or allow it with --archive-insecure")

// Check returns why the place can never be opened: a file without a place in it, a DSN that
// does not parse, or one that does not verify its server. It connects to nothing.
func (a *Archive) Check() error {
	place, err := a.place()
	if err == nil && isPostgres(place) {
		_, err = a.postgresConfig(place)
	}
	return err
}

// Open opens the archive and brings its tables up to date.
func (a *Archive) Open(ctx context.Context) error {
	db, postgres, err := a.open()
	if err == nil {
		db.SetMaxOpenConns(connections)
		db.SetConnMaxIdleTime(time.Minute)
		if err = migrate(ctx, db, postgres); err != nil {
			_ = db.Close()
		}
	}
	if err != nil {
		return a.say(fmt.Errorf("opening the archive: %w", err))
	}
	a.mu.Lock()
	a.db, a.postgres = db, postgres
	a.mu.Unlock()
	return a.say(nil)
}

func (a *Archive) open() (db *sql.DB, postgres bool, err error) {
	place, err := a.place()
	if err != nil {
		return nil, false, err
	}
	if isPostgres(place) {
		db, err = a.openPostgres(place)
		return db, true, err
	}
	if err := closeToOthers(place); err != nil {
		return nil, false, err
	}
	// What was committed is on the disk: an acknowledged answer outlives a power cut.
	db, err = sql.Open("sqlite", "file:"+place+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)&_txlock=immediate")
	return db, false, err
}

// place returns where the archive is: a path, or a DSN.
func (a *Archive) place() (string, error) {
	if a.o.PlaceFile == "" {
		return a.o.Place, nil
	}
	text, err := os.ReadFile(a.o.PlaceFile)
	if err != nil {
		return "", fmt.Errorf("reading where the archive is: %w", err)
	}
	place := strings.TrimSpace(string(text))
	if place == "" {
		return "", fmt.Errorf("%s is empty: it should hold postgres://… or a path", a.o.PlaceFile)
	}
	return place, nil
}

// dsnForm is a URL, or PostgreSQL's own list of settings (host=db user=…).
var dsnForm = regexp.MustCompile(`^(postgres(ql)?://|[a-z_]+ *=)`)

func isPostgres(place string) bool { return dsnForm.MatchString(place) }

func (a *Archive) openPostgres(place string) (*sql.DB, error) {
	config, err := a.postgresConfig(place)
	if err != nil {
		return nil, err
	}
	// Each connection takes the account that the file holds by then.
	return stdlib.OpenDB(*config, stdlib.OptionBeforeConnect(func(_ context.Context, c *pgx.ConnConfig) error {
		place, err := a.place()
		if err != nil {
			return err
		}
		now, err := a.postgresConfig(place)
		if err != nil {
			return err
		}
		*c = *now
		return nil
	})), nil
}

// postgresConfig parses a DSN, and refuses one whose server would not be verified. Errors
// hold no password.
func (a *Archive) postgresConfig(dsn string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(dsn)
	var unread *fs.PathError // sslrootcert's, for example
	switch {
	case errors.As(err, &unread):
		return nil, fmt.Errorf("the archive's DSN: %w", unread)
	case err != nil: // its words may quote a part of the password
		return nil, errors.New("the archive's DSN does not parse; it has the form postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full")
	}
	if !a.o.Insecure && !isVerified(config) {
		return nil, errUnverified
	}
	return config, nil
}

// isVerified reports whether all ways to the server are sockets of this machine, or TLS that
// checks the server's name and authority.
func isVerified(config *pgx.ConnConfig) bool {
	ways := append([]*pgconn.FallbackConfig{{Host: config.Host, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for _, way := range ways {
		if filepath.IsAbs(way.Host) {
			continue
		}
		if way.TLSConfig == nil || way.TLSConfig.InsecureSkipVerify || way.TLSConfig.ServerName == "" {
			return false
		}
	}
	return true
}

// closeToOthers makes the file, and closes one that an earlier release left open to others.
// SQLite gives -wal and -shm the file's own mode.
func closeToOthers(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, errors.ErrUnsupported) {
			return err // a volume of another owner may not let the mode be changed
		}
	}
	return nil
}
