package images

import (
	"cmp"
	"slices"
	"time"
)

// GCPolicy says when unused images are removed.
type GCPolicy struct {
	// High is how full the disk must be, in percent, for images to be removed; they
	// are removed until it is Low.
	High, Low int
	// MinAge is how long an image must have been known before it can go: it may have
	// been pulled for a container that is not there yet.
	MinAge time.Duration
}

// DefaultPolicy is Kubernetes' (imageGCHighThresholdPercent and its kin).
var DefaultPolicy = GCPolicy{High: 85, Low: 80, MinAge: 2 * time.Minute}

// toFree is how many bytes have to go, 0 while the disk is not too full.
func (p GCPolicy) toFree(capacity, available int64) int64 {
	available = min(available, capacity)
	if 100-available*100/capacity < int64(p.High) {
		return 0
	}
	return capacity*int64(100-p.Low)/100 - available
}

// sighting is what is remembered of an image: since when it is known, and when it
// was last seen in use (zero: never).
type sighting struct {
	since, used time.Time
}

// remember brings the records up to date with what is there now and what of it is
// in use, by image id.
func remember(records map[string]sighting, present []Stored, inUse map[string]bool, now time.Time) map[string]sighting {
	updated := make(map[string]sighting, len(present))
	for _, image := range present {
		r, ok := records[image.ID]
		if !ok {
			r.since = now
		}
		if inUse[image.ID] {
			r.used = now
		}
		updated[image.ID] = r
	}
	return updated
}

// victims are the images that can go, in the order in which they should: longest
// unused first, and of those never used the longest known.
func victims(records map[string]sighting, present []Stored, inUse map[string]bool, minAge time.Duration, now time.Time) []Stored {
	var out []Stored
	for _, image := range present {
		if !image.Pinned && !inUse[image.ID] && now.Sub(records[image.ID].since) >= minAge {
			out = append(out, image)
		}
	}
	slices.SortFunc(out, func(a, b Stored) int {
		ra, rb := records[a.ID], records[b.ID]
		return cmp.Or(ra.used.Compare(rb.used), ra.since.Compare(rb.since), cmp.Compare(a.ID, b.ID))
	})
	return out
}
