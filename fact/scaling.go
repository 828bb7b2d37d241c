package fact

import (
	"strconv"
	"strings"
	"time"
)

// Scaling is a Deployment's word that it made one of its ReplicaSets larger or smaller.
type Scaling struct {
	Set      string
	From, To int // From is -1 where it is not said, as by older versions
	Up       bool
	At       time.Time
	Message  string
}

// ScaledSet is the reason of such an event (pkg/controller/deployment/sync.go).
const ScaledSet = "ScalingReplicaSet"

// ScalingIn reads the message of such an event: "Scaled down replica set web-1 from 2 to 1",
// with "to 1 from 2" or "to 1" in older versions.
func ScalingIn(message string, at time.Time) (Scaling, bool) {
	message = strings.TrimPrefix(message, Combined)
	s := Scaling{From: -1, To: -1, At: at, Message: message}
	rest, up := strings.CutPrefix(message, "Scaled up replica set ")
	if s.Up = up; !up {
		var down bool
		if rest, down = strings.CutPrefix(message, "Scaled down replica set "); !down {
			return Scaling{}, false
		}
	}
	words := strings.Fields(rest)
	if len(words) < 3 {
		return Scaling{}, false
	}
	s.Set = words[0]
	for i := 1; i+1 < len(words); i += 2 {
		n, err := strconv.Atoi(words[i+1])
		if err != nil || n < 0 {
			return Scaling{}, false
		}
		switch words[i] {
		case "from":
			s.From = n
		case "to":
			s.To = n
		}
	}
	return s, s.To >= 0
}

// Combined is what client-go puts before the newest of several events that differ in their
// message only (tools/record/events_cache.go).
const Combined = "(combined from similar events): "

const (
	// scaledBefore is how long before a pod's deletion its ReplicaSet may have been made
	// smaller for it, scaledSlack how far their clocks may be apart.
	scaledBefore = 10 * time.Second
	scaledSlack  = 2 * time.Second
	// comesSoon is how soon a Deployment that recreates makes the next ReplicaSet after the
	// last pod of the one before is gone, goesSoon how soon that is after its grace period.
	comesSoon = 2 * time.Second
	goesSoon  = 5 * time.Second
)

// Departure is when a pod was deleted and when it was gone, zero where that is not known;
// Grace is what it had to end.
type Departure struct {
	Deleted, Gone time.Time
	Grace         time.Duration
}

// Rescaled are the words that tell why a ReplicaSet deleted a pod: its Deployment had made it
// larger (Made), made it smaller then (Down), and, in a rollout, another one larger (Up).
// Nothing is told where one of the first two is not there: what came between may be gone, too.
type Rescaled struct{ Made, Down, Up *Scaling }

// Rescaled says why a ReplicaSet deleted a pod, by the words of its Deployment that were read
// at some time. A Deployment that recreates makes the next ReplicaSet only when all pods of
// the last one are gone: of one that was scaled to nothing they have to be read again, from
// a time on, before they say that none came.
func (d Departure) Rescaled(all []Scaling, set string, read time.Time) (r Rescaled, again time.Time) {
	for i := range all {
		s := &all[i]
		since := d.Deleted.Sub(s.At)
		switch {
		case s.Set != set:
		case s.Up && since >= 0 && (r.Made == nil || s.At.After(r.Made.At)):
			r.Made = s
		case !s.Up && since <= scaledBefore && since >= -scaledSlack && (r.Down == nil || s.At.After(r.Down.At)):
			r.Down = s
		}
	}
	if r.Down == nil || r.Made == nil {
		return Rescaled{}, time.Time{}
	}
	until, settled := d.Deleted.Add(scaledSlack), time.Time{}
	if r.Down.To == 0 {
		until = d.Deleted.Add(d.Grace + goesSoon)
		settled = until
		if r.Down.From == 1 && !d.Gone.IsZero() { // it was the only one
			settled = d.Gone.Add(comesSoon)
		}
	}
	for i := range all {
		if s := &all[i]; s.Set != set && s.Up && !s.At.Before(r.Made.At) && !s.At.After(until) && (r.Up == nil || s.At.After(r.Up.At)) {
			r.Up = s
		}
	}
	if r.Up == nil && read.Before(settled) {
		return Rescaled{}, settled
	}
	return r, time.Time{}
}
