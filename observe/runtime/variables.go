package runtime

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
)

// variables are those that the newest run of each container was given: what is changed in a
// ConfigMap or a Secret that a variable is taken from, only the next run is told. Of the
// values sums are kept, which nobody can make again without this process's seed.
type variables struct {
	mu    sync.Mutex
	runs  map[string]given
	seeds maphash.Seed
}

type given struct {
	attempt int32
	sums    map[string]uint64
}

// mostVariables bounds the names that are told.
const mostVariables = 16

// compare names the variables that a run was given otherwise than the one before it; ok is
// false where that is not known.
func (a *variables) compare(v view) (other []string, ok bool) {
	if v.environment == nil {
		return nil, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.runs == nil {
		a.runs, a.seeds = map[string]given{}, maphash.MakeSeed()
	}
	now := given{v.attempt, map[string]uint64{}}
	for _, one := range v.environment {
		name, value, _ := strings.Cut(one, "=")
		now.sums[name] = maphash.String(a.seeds, value)
	}
	key := keyOf(v)
	was, known := a.runs[key]
	if known && was.attempt > v.attempt {
		return nil, false
	}
	a.runs[key] = now
	if !known || was.attempt+1 != v.attempt {
		return nil, false
	}
	for name := range now.sums {
		if sum, there := was.sums[name]; !there || sum != now.sums[name] {
			other = append(other, name)
		}
	}
	for name := range was.sums {
		if _, there := now.sums[name]; !there {
			other = append(other, name)
		}
	}
	slices.Sort(other)
	return other[:min(len(other), mostVariables)], true
}

// keep forgets the containers of which there is no run any more.
func (a *variables) keep(all map[string]view) {
	there := map[string]bool{}
	for _, v := range all {
		there[keyOf(v)] = true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.runs, func(key string, _ given) bool { return !there[key] })
}

// keyOf names a container of a pod, whichever run it is.
func keyOf(v view) string { return string(v.pod.UID) + "/" + v.name }
