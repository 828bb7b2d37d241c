package main

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// peers are the addresses of all replicas.
type peers struct {
	host, own string

	mu    sync.Mutex
	found []string
}

func (p *peers) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.found
}

// run looks them up now and then. A name that cannot be looked up leaves those that were
// known: one that is gone costs the others a second.
func (p *peers) run(ctx context.Context) {
	ticker := time.NewTicker(5 * time.Second)
	defer ticker.Stop()
	for {
		if found, err := (&net.Resolver{}).LookupHost(ctx, p.host); err == nil {
			if !slices.Contains(found, p.own) {
				found = append(found, p.own)
			}
			p.mu.Lock()
			p.found = found
			p.mu.Unlock()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
