// Command meshapp is the application of TestMesh: HTTP on port BASE, the gRPC
// health service on BASE+1, HTTPS on BASE+2 (BASE is 14001 unless the environment
// says another). Its answers can be changed while it runs:
//
//	meshapp                     serve; the paths in $FAIL answer 503 from the start
//	meshapp set /readiness 503  change an answer ("grpc 503" is NOT_SERVING)
//	meshapp get URL             make a request: status, and body
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	base, err := strconv.Atoi(os.Getenv("BASE"))
	if err != nil {
		base = 14001
	}
	switch {
	case len(args) == 0:
		return serve(base)
	case args[0] == "get" && len(args) == 2:
		return get(args[1])
	case args[0] == "set" && len(args) == 3:
		return get(fmt.Sprintf("http://127.0.0.1:%d/set?what=%s&code=%s", base, url.QueryEscape(args[1]), args[2]))
	}
	return errors.New("usage: meshapp [get URL | set WHAT CODE]")
}

func get(address string) error {
	client := &http.Client{Timeout: 20 * time.Second}
	res, err := client.Get(address)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(res.Body)
	fmt.Printf("%d %s", res.StatusCode, body)
	return err
}

// app holds the answers.
type app struct {
	name   string
	health *health.Server
	mu     sync.Mutex
	codes  map[string]int
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/set" {
		code, err := strconv.Atoi(r.FormValue("code"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a.set(r.FormValue("what"), code)
		return
	}
	a.mu.Lock()
	code, ok := a.codes[r.URL.Path]
	a.mu.Unlock()
	if !ok {
		code = http.StatusOK
	}
	w.Header().Set("X-App", a.name)
	w.WriteHeader(code)
	how := "in plain text"
	if r.TLS != nil {
		how = "over TLS"
	}
	_, _ = fmt.Fprintf(w, "hello of %s, asked for %s %s by %s\n", a.name, r.URL.Path, how, r.UserAgent())
}

func (a *app) set(what string, code int) {
	if what == "grpc" {
		status := healthpb.HealthCheckResponse_SERVING
		if code != http.StatusOK {
			status = healthpb.HealthCheckResponse_NOT_SERVING
		}
		a.health.SetServingStatus("", status)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.codes[what] = code
}

func serve(base int) error {
	a := &app{name: os.Getenv("NAME"), health: health.NewServer(), codes: map[string]int{}}
	for path := range strings.FieldsSeq(os.Getenv("FAIL")) {
		a.codes[path] = http.StatusServiceUnavailable
	}
	config, err := selfSigned()
	if err != nil {
		return err
	}
	var listeners [3]net.Listener
	for i := range listeners {
		if listeners[i], err = net.Listen("tcp", fmt.Sprintf(":%d", base+i)); err != nil {
			return err
		}
	}
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, a.health)
	ended := make(chan error, 3)
	go func() { ended <- http.Serve(listeners[0], a) }()
	go func() { ended <- server.Serve(listeners[1]) }()
	go func() { ended <- http.Serve(tls.NewListener(listeners[2], config), a) }()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return err
	}
}

func selfSigned() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, nil
}
