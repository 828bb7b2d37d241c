package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"whylet.dev/whylet/front"
	"whylet.dev/whylet/front/archive"
	"whylet.dev/whylet/front/door"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/ask"
)

// gcPercent makes the garbage collector run earlier than by default: most of what a front has
// is how pods stand, which changes seldom. Set GOGC to choose otherwise.
const gcPercent = 50

// serve runs a front until ctx ends.
func serve(ctx context.Context, s settings, log *slog.Logger) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	typed, api, objects, err := clients(s.kubeconfig)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var parts sync.WaitGroup
	defer parts.Wait()
	o := front.Options{API: api, Agent: "system:serviceaccount:" + strings.Replace(s.account, "/", ":", 1), Authorities: (&authorities{api: api}).get, Log: log}
	var kept interface{ Trouble() error }
	if s.archive != "" || s.archiveFile != "" {
		a := archive.New(archive.Options{
			Place: s.archive, PlaceFile: s.archiveFile, Insecure: s.archiveInsecure, MaxBytes: s.archiveBytes, MaxAge: s.archiveAge, Log: log,
		})
		if err := a.Check(); err != nil {
			return err
		}
		o.Archive, kept = a, a
		parts.Go(func() { a.Run(ctx) })
	}
	hub := front.New(o)
	cluster, err := ask.Connect(typed, ask.Options{Front: hub})
	if err != nil {
		return err
	}
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	own, refused, err := knowledge.Directory(s.knowledge)
	if err != nil {
		return err
	}
	for _, err := range refused {
		log.Warn("an entry of knowledge is refused", "error", err)
	}
	answerer := &door.Answerer{Cluster: cluster, Front: hub, Name: name, Known: &ask.Known{Own: own}}
	questions := &door.Questions{API: objects, Answerer: answerer, Fresh: hub.Fresh, Log: log}
	var others func() bool
	if s.peers != "" {
		p := &peers{host: s.peers, own: os.Getenv("POD_IP")}
		others = func() bool { return len(p.all()) > 1 }
		questions.Self, questions.Peers = p.own, p.all
		parts.Go(func() { p.run(ctx) })
	}
	parts.Go(func() { questions.Run(ctx) })
	parts.Go(func() { sweep(ctx, hub) })
	cert := &serving{cert: s.cert, key: s.key, names: s.names, lifetime: s.lifetime}
	secure, err := cert.config()
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.agents)
	if err != nil {
		return fmt.Errorf("listening for agents: %w", err)
	}
	agents := secure.Clone()
	agents.ClientAuth = tls.RequestClientCert // a node of Whylet's own; whose it is, the hub looks at
	server := hub.Server(grpc.Creds(credentials.NewTLS(agents)))
	context.AfterFunc(ctx, server.Stop)
	guarded := hub.Guard(l)
	parts.Go(func() { stop(server.Serve(guarded)) })
	if s.listen != "" {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.listen)
		if err != nil {
			return fmt.Errorf("listening for questions by HTTPS: %w", err)
		}
		guard := front.NewGuard(l)
		web := (&door.HTTPS{API: api, Answerer: answerer, Hub: hub, Version: version, Others: others, Archive: kept, Ends: cert.end, Key: func() string { return keyIn(s.webhook) }, Known: guard.Known}).Server()
		web.TLSConfig, web.ErrorLog = secure, slog.NewLogLogger(log.Handler(), slog.LevelDebug)
		context.AfterFunc(ctx, func() { _ = web.Close() })
		parts.Go(func() { stop(web.ServeTLS(guard, "", "")) })
	}
	log.Info("agents may come", "address", l.Addr())
	<-ctx.Done()
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return cause
	}
	return nil
}

// clients are those of the API server, and what the typed one is made of.
func clients(kubeconfig string) (typed *rest.Config, api *kubernetes.Clientset, objects *dynamic.DynamicClient, err error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("finding the API server: %w", err)
	}
	config.UserAgent, config.QPS = "whylet-front/"+version, -1 // the API server has bounds of its own
	typed = rest.CopyConfig(config)
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	if api, err = kubernetes.NewForConfig(typed); err != nil {
		return nil, nil, nil, err
	}
	objects, err = dynamic.NewForConfig(config)
	return typed, api, objects, err
}

// sweep has the hub forget what is long over.
func sweep(ctx context.Context, hub *front.Hub) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			hub.Sweep(now)
		case <-ctx.Done():
			return
		}
	}
}

// keyIn reads a key, each time anew; empty where there is none.
func keyIn(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
