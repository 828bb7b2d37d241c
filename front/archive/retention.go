package archive

import (
	"context"
	"fmt"
	"time"
)

// Prune removes what is too old, then the oldest until the rest is small enough.
func (a *Archive) Prune(ctx context.Context, now time.Time) error {
	db, err := a.opened()
	if err != nil {
		return err
	}
	if a.o.MaxAge > 0 {
		if _, err := db.ExecContext(ctx, a.words("DELETE FROM closing WHERE ended_at < ?"), now.Add(-a.o.MaxAge).UnixNano()); err != nil {
			return fmt.Errorf("removing old answers: %w", err)
		}
	}
	for {
		size, count, err := a.Size(ctx)
		if err != nil || a.o.MaxBytes == 0 || size <= a.o.MaxBytes || count == 0 {
			return err
		}
		excess := (size-a.o.MaxBytes)*count/size + 1 // if all were of one size
		_, err = db.ExecContext(ctx, a.words(`DELETE FROM closing WHERE ended_at <= (SELECT MAX(ended_at) FROM
			(SELECT ended_at FROM closing ORDER BY ended_at LIMIT ?) oldest)`), excess)
		if err != nil {
			return fmt.Errorf("removing the oldest answers: %w", err)
		}
	}
}

// Size is how many bytes the answers take, and how many they are.
func (a *Archive) Size(ctx context.Context) (bytes, count int64, err error) {
	db, err := a.opened()
	if err != nil {
		return 0, 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT), COUNT(*) FROM closing").Scan(&bytes, &count)
	return bytes, count, err
}
