package archive

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options say how much is kept.
type Options struct {
	// Place is a file's path, or postgres://….
	Place string
	// PlaceFile is a file that holds the place, read for each connection, so that a changed
	// password is taken over. It stands in for Place.
	PlaceFile string
	// Insecure allows a PostgreSQL connection that does not verify the server.
	Insecure bool
	// MaxBytes bounds the answers as they are kept, MaxAge how old they become; 0: no bound.
	MaxBytes int64
	MaxAge   time.Duration
	Log      *slog.Logger
}

// Archive keeps closing answers. It may be used from many goroutines.
type Archive struct {
	o Options

	mu      sync.Mutex
	db      *sql.DB // nil: not open
	trouble error
	// postgres is set with db.
	postgres bool
}

// errClosed says that the archive has not been opened yet.
var errClosed = errors.New("the archive is not open")

// New makes an archive that opens as soon as it can, see [Archive.Run].
func New(o Options) *Archive {
	return &Archive{o: o, trouble: errClosed}
}

const (
	openAgain  = 5 * time.Second
	pruneEvery = 10 * time.Minute
	// connections are enough for what waits for the same disk.
	connections = 4
)

// Run opens the archive, prunes it now and then, and closes it when ctx ends.
func (a *Archive) Run(ctx context.Context) {
	for a.Open(ctx) != nil {
		select {
		case <-time.After(openAgain):
		case <-ctx.Done():
			return
		}
	}
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		a.say(a.Prune(ctx, time.Now()))
		select {
		case <-ticker.C:
		case <-ctx.Done():
			_ = a.Close()
			return
		}
	}
}

// Close closes it. What comes later fails.
func (a *Archive) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.db == nil {
		return nil
	}
	db := a.db
	a.db, a.trouble = nil, errClosed
	return db.Close()
}

// Trouble is why the archive does not work; nil while it does.
func (a *Archive) Trouble() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.trouble
}

// say notes whether the archive works, and tells each change once.
func (a *Archive) say(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if errors.Is(err, context.Canceled) {
		return err
	}
	switch {
	case err != nil && (a.trouble == nil || a.trouble == errClosed):
		a.o.Log.Error("the archive does not work; agents keep what they have", "error", err)
	case err == nil && a.trouble != nil && a.trouble != errClosed:
		a.o.Log.Info("the archive works again")
	}
	a.trouble = err
	return err
}

// opened is the database, if it is open.
func (a *Archive) opened() (*sql.DB, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.db == nil {
		return nil, errClosed
	}
	return a.db, nil
}

// words writes a statement with ? in the words of the database.
func (a *Archive) words(statement string) string {
	if !a.postgres {
		return statement
	}
	var b strings.Builder
	n := 0
	for _, r := range statement {
		if r == '?' {
			n++
			b.WriteString("$" + strconv.Itoa(n))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
