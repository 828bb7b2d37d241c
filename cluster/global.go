package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	_ "unsafe" // for go:linkname

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"go.uber.org/zap"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// The borrowed programs share these in one process. Each is set here, once:
//
//   - klog has one sink. It goes to our log file, at warning level. CoreDNS's
//     kubernetes plugin takes it over when it is set up; the next thing that caddy
//     calls takes it back.
//   - The etcd client has one logger for all of the API server's connections, made
//     before main runs. It is replaced, or its retries would appear on stderr.
//   - The standard logger has one output, and CoreDNS and caddy write to it. It goes
//     to the same file. Whylet itself logs through the slog.Logger that it is given.
//   - Feature gates and emulated versions are in one registry. The API server's
//     options set it (apiserver.go); the others find it set and leave it alone.
//   - utilruntime.ReallyCrash decides whether a panic that a Kubernetes component
//     caught ends the process. Its worker loops and informers are written to go on
//     without the item that made them panic, and here the process also holds the
//     node agent: so they go on, and the panic is reported as an error.
//   - klog.Fatal and klog.FlushAndExit end the process. Here they end the control
//     plane in order, and Wait returns why.
//   - The handler of API warnings is silenced, as each component's main does.
//   - The configz and informer-name registries refuse the same name twice. The
//     components' names differ; only a second start in one process would collide,
//     and the controller manager has no way to give its name back. Hence errStarted.
//   - Metrics registries, API schemes and flag sets are either shared on purpose or
//     made for each component, and need nothing.
var started atomic.Bool

var errStarted = errors.New("a control plane was started in this process before; Kubernetes' components can run once in a process: start a new one")

//go:linkname etcdClientLogger k8s.io/apiserver/pkg/storage/storagebackend/factory.etcd3ClientLogger
var etcdClientLogger *zap.Logger

// takeProcess sets what is global. exit is called at most once, when a component
// asks for the process to end.
func takeProcess(file io.Writer, log *slog.Logger, exit func(error)) error {
	if !started.CompareAndSwap(false, true) {
		return errStarted
	}
	stdlog.SetOutput(file)
	caddy.Quiet, dnsserver.Quiet = true, true
	routeKlog(file)
	caddy.RegisterParsingCallback("dns", "kubernetes", func(caddy.Context) error {
		routeKlog(file)
		return nil
	})
	etcdClientLogger = etcdLogger(file)
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, reportPanic(log))
	klog.OsExit = func(code int) {
		exit(fmt.Errorf("a component ended with exit code %d; its last words are in the control plane's log", code))
		// Its caller does not expect to go on.
		select {}
	}
	return nil
}

// routeKlog sends klog's errors to file. With a logger set, klog itself writes
// nowhere, as long as its flags are left alone: one that kept it from stderr would
// bring the stacks of a klog.Fatal there.
func routeKlog(file io.Writer) {
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelWarn})))
}

// reportPanic makes a panic that a component survived visible to the operator.
func reportPanic(log *slog.Logger) func(context.Context, any) {
	return func(ctx context.Context, panicked any) {
		if panicked == http.ErrAbortHandler {
			return // how net/http handlers hang up
		}
		log.ErrorContext(ctx, "A part of the control plane panicked and goes on without what it was working at",
			"panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
	}
}
