package uplink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/journal"
)

// Journal is the node's memory.
type Journal interface {
	journal.Source
	Tail(ctx context.Context, from fact.ID) iter.Seq2[fact.Fact, error]
}

// Options say who the fronts are, and what they may have.
type Options struct {
	// Address is host:port. Each address that the host's name has is a front, and each is
	// told everything: a headless Service names all replicas.
	Address string
	// Lookup finds the addresses of a host; nil: the name servers are asked.
	Lookup func(ctx context.Context, host string) ([]string, error)
	// CAFile and TokenFile are read anew at each connection.
	CAFile, TokenFile string
	// Certificate is what a node of Whylet's own shows in place of a token: that by which the
	// API server knows it. Read anew at each connection; nil: there is a token.
	Certificate func() (tls.Certificate, error)
	Version     string
	Journal     Journal
	// Requested is told who asked for a pod's end, as a fact about a pod whose UID may be
	// missing. It must not block; it may be nil.
	Requested func(fact.Fact)
	// Serve are the paths that a front may ask for, without the first slash.
	Serve map[string]http.Handler
	Log   *slog.Logger
}

const (
	// lookAgain is how often the fronts' addresses are looked up, retry and mostRetry
	// how long a front that does not answer is left alone.
	lookAgain        = 15 * time.Second
	retry, mostRetry = time.Second, 30 * time.Second
)

// Run keeps a session with each front until ctx ends.
func Run(ctx context.Context, o Options) error {
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return fmt.Errorf("the front's address: %w", err)
	}
	if o.Lookup == nil {
		o.Lookup = (&net.Resolver{}).LookupHost
	}
	t := newTracker(o.Journal)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { t.run(ctx) })
	sessions := map[string]context.CancelFunc{}
	for {
		found, err := o.Lookup(ctx, host)
		if err != nil && ctx.Err() == nil {
			o.Log.Warn("no front is found", "host", host, "error", err)
		}
		for _, address := range found {
			if sessions[address] == nil {
				own, cancel := context.WithCancel(ctx)
				sessions[address] = cancel
				all.Go(func() { o.keep(own, t, host, net.JoinHostPort(address, port)) })
			}
		}
		for address, cancel := range sessions {
			if err == nil && !slices.Contains(found, address) {
				cancel()
				delete(sessions, address)
			}
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return nil
		}
	}
}

// keep has one session after the other with a front.
func (o *Options) keep(ctx context.Context, t *tracker, host, address string) {
	wait := retry
	for ctx.Err() == nil {
		began := time.Now()
		err := o.session(ctx, t, host, address)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > mostRetry {
			wait = retry
		}
		o.Log.Info("the front is away", "front", address, "error", err, "again", wait)
		select {
		// Not all agents of a cluster at the same time.
		case <-time.After(wait/2 + rand.N(wait)):
		case <-ctx.Done():
		}
		wait = min(2*wait, mostRetry)
	}
}

func (o *Options) session(ctx context.Context, t *tracker, host, address string) error {
	transport, err := o.transport(host)
	if err != nil {
		return err
	}
	if o.Certificate == nil {
		token, err := os.ReadFile(o.TokenFile)
		if err != nil {
			return fmt.Errorf("reading the token: %w", err)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	c, err := grpc.NewClient("passthrough:///"+address, append(link.DialOptions(), grpc.WithTransportCredentials(transport),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}))...)
	if err != nil {
		return fmt.Errorf("connecting to the front: %w", err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := link.Connect(ctx, c)
	if err != nil {
		return err
	}
	return runSession(ctx, stream, t, o)
}

func (o *Options) transport(host string) (credentials.TransportCredentials, error) {
	pem, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading who may vouch for the front: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("there is no certificate in " + o.CAFile)
	}
	c := &tls.Config{RootCAs: pool, ServerName: host, MinVersion: tls.VersionTLS13}
	if o.Certificate != nil {
		own, err := o.Certificate()
		if err != nil {
			return nil, fmt.Errorf("reading the node's certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{own}
	}
	return credentials.NewTLS(c), nil
}
