package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front"
	"whylet.dev/whylet/front/link"
)

var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) // fails on bad options only
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(4*link.MaxAnswer))
)

// Kept is of [front.Archive].
func (a *Archive) Kept(ctx context.Context, node string) (m link.Mark, err error) {
	db, err := a.opened()
	if err != nil {
		return m, err
	}
	var id, seen int64
	err = db.QueryRowContext(ctx, a.words("SELECT id, seen FROM mark WHERE node = ?"), node).Scan(&id, &seen)
	if errors.Is(err, sql.ErrNoRows) {
		return m, nil
	}
	return link.Mark{ID: fact.ID(id), Seen: time.Unix(0, seen).UTC()}, err
}

// keep is one closing answer. One that is known to be of its node stays so.
const keep = `INSERT INTO closing (uid, node, namespace, name, owner, ended_at, confirmed, size, answer) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (uid, node) DO UPDATE SET ended_at = excluded.ended_at, owner = excluded.owner, size = excluded.size, answer = excluded.answer,
		confirmed = CASE WHEN closing.confirmed = 1 THEN 1 ELSE excluded.confirmed END`

// Keep is of [front.Archive]. Told twice, an answer is kept once.
func (a *Archive) Keep(ctx context.Context, node string, ends []front.Closing) error {
	if len(ends) == 0 {
		return nil
	}
	db, err := a.opened()
	if err != nil {
		return err
	}
	return a.say(a.keepAll(ctx, db, node, ends))
}

func (a *Archive) keepAll(ctx context.Context, db *sql.DB, node string, ends []front.Closing) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	for _, c := range ends {
		text := encoder.EncodeAll(c.Answer, nil)
		confirmed := 0
		if c.Confirmed {
			confirmed = 1
		}
		if _, err := tx.ExecContext(ctx, a.words(keep), string(c.Pod.UID), node, c.Pod.Namespace, c.Pod.Name, string(c.Owner), c.At.UnixNano(), confirmed, len(text), text); err != nil {
			return fmt.Errorf("keeping the closing answer about pod %s: %w", c.Pod, err)
		}
	}
	last := ends[len(ends)-1].Mark
	_, err = tx.ExecContext(ctx, a.words("INSERT INTO mark (node, id, seen) VALUES (?, ?, ?) ON CONFLICT (node) DO UPDATE SET id = excluded.id, seen = excluded.seen"), node, int64(last.ID), last.Seen.UnixNano())
	if err != nil {
		return err
	}
	return tx.Commit()
}

const columns = "SELECT uid, node, namespace, name, owner, ended_at, confirmed, answer FROM closing "

// Newest is of [front.Archive]. Where two nodes speak of one pod, that one is heard of
// which the API server had said that the pod was there.
func (a *Archive) Newest(ctx context.Context, namespace, name string, uid types.UID) (front.Closing, bool, error) {
	all, err := a.find(ctx, `WHERE namespace = ? AND name = ? AND (? = '' OR uid = ?)
		AND (confirmed = 1 OR NOT EXISTS (SELECT 1 FROM closing other WHERE other.uid = closing.uid AND other.confirmed = 1))
		ORDER BY ended_at DESC LIMIT 1`, namespace, name, string(uid), string(uid))
	if err != nil || len(all) == 0 {
		return front.Closing{}, false, err
	}
	return all[0], true, nil
}

// mostOwned bounds how many pods of a controller are told of.
const mostOwned = 5

// Owned is of [front.Archive].
func (a *Archive) Owned(ctx context.Context, namespace string, owner types.UID) ([]front.Closing, error) {
	return a.find(ctx, fmt.Sprintf("WHERE namespace = ? AND owner = ? AND confirmed = 1 ORDER BY ended_at DESC LIMIT %d", mostOwned), namespace, string(owner))
}

func (a *Archive) find(ctx context.Context, where string, args ...any) ([]front.Closing, error) {
	db, err := a.opened()
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, a.words(columns+where), args...)
	if err != nil {
		return nil, fmt.Errorf("asking the archive: %w", err)
	}
	defer rows.Close()
	var all []front.Closing
	for rows.Next() {
		var c front.Closing
		var uid, owner string
		var at int64
		var confirmed int
		var text []byte
		if err := rows.Scan(&uid, &c.Node, &c.Pod.Namespace, &c.Pod.Name, &owner, &at, &confirmed, &text); err != nil {
			return nil, fmt.Errorf("asking the archive: %w", err)
		}
		c.Pod.UID, c.Owner, c.At, c.Confirmed = types.UID(uid), types.UID(owner), time.Unix(0, at).UTC(), confirmed == 1
		if c.Answer, err = decoder.DecodeAll(text, nil); err != nil {
			return nil, fmt.Errorf("the archive's answer about pod %s is damaged: %w", c.Pod, err)
		}
		all = append(all, c)
	}
	return all, rows.Err()
}
