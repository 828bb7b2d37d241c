package door

import (
	"errors"
	"strings"
	"sync"

	authn "k8s.io/api/authentication/v1"
)

const (
	// mostRequests is how many requests are answered at the same time, mostOpen how many are read
	// or answered, and mostOfUser those of one user.
	mostRequests, mostOpen, mostOfUser = 64, 128, 8
	// mostScrapes and mostScrapesOfUser are the same of metrics, which have places of their own.
	mostScrapes, mostScrapesOfUser = 16, 4
)

var errTooMany = errors.New("too much is asked at the same time: try again in a second")

// gate bounds how many requests are served at the same time.
type gate struct {
	places          chan struct{}
	mostAll, mostOf int

	mu  sync.Mutex
	all int
	of  map[string]int // open requests, by user
}

func newGate(places, all, of int) *gate {
	return &gate{places: make(chan struct{}, places), mostAll: all, mostOf: of, of: map[string]int{}}
}

// through reads a request of a user, then takes a place and serves it.
func (g *gate) through(user string, read, serve func() error) error {
	if !g.open(user) {
		return errTooMany
	}
	defer g.close(user)
	if err := read(); err != nil {
		return err
	}
	select {
	case g.places <- struct{}{}:
		defer func() { <-g.places }()
	default:
		return errTooMany
	}
	return serve()
}

func (g *gate) open(user string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all >= g.mostAll || g.of[user] >= g.mostOf {
		return false
	}
	g.all++
	g.of[user]++
	return true
}

func (g *gate) close(user string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all--
	if g.of[user]--; g.of[user] == 0 {
		delete(g.of, user)
	}
}

// accounts begins the names of service accounts: NAMESPACE:NAME follows.
const accounts = "system:serviceaccount:"

// payer is for whom a request is counted: all service accounts of a namespace are one, because
// who may make one there may make many.
func payer(user authn.UserInfo) string {
	if rest, ok := strings.CutPrefix(user.Username, accounts); ok {
		namespace, _, _ := strings.Cut(rest, ":")
		return accounts + namespace
	}
	return user.Username
}
