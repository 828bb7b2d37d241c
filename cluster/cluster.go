package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"gopkg.in/natefinch/lumberjack.v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"whylet.dev/whylet/cluster/pki"
	"whylet.dev/whylet/cluster/proxy"
)

// Log rotation: at most three files of this size.
const (
	logMegabytes = 10
	logBackups   = 2
)

// stopTimeout bounds the stop that the end of Start's context brings about.
const stopTimeout = 10 * time.Second

// Cluster is a running control plane. Its methods are safe for concurrent use.
type Cluster struct {
	config Config
	paths  paths
	certs  *pki.Set
	log    *slog.Logger

	lock   *os.File
	file   *lumberjack.Logger
	etcd   *embed.Etcd
	server *apiServer

	storage *controller.ProvisionController

	// clients are the components that need the API; they stop before it does.
	clients, api group
	dns          chan struct{}

	// lost is closed when the database has given up, with failure set before: nothing
	// that waits for the database ends then.
	lost     chan struct{}
	failure  *DatabaseError
	ended    chan struct{}
	endOnce  sync.Once
	err      error
	stopOnce sync.Once
	stopErr  error
}

// group is components that stop together.
type group struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// Start starts a control plane and returns when its API serves the administrator
// and the node. The rest comes up meanwhile: on the first start of a directory,
// RBAC's default roles and all that waits for them take a second more. When
// ctx ends, the control plane stops. Errors are of type *PortTakenError, *InUseError, *ForeignDataDirError or *DatabaseError where
// a caller may want to tell them apart. A process can start one control plane in its life.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("control plane: %w", err)
	}
	config = config.withDefaults()
	c := &Cluster{
		config: config, paths: config.paths(), log: config.Log,
		ended: make(chan struct{}), lost: make(chan struct{}), dns: make(chan struct{}),
	}
	life := context.WithoutCancel(ctx)
	c.clients.ctx, c.clients.cancel = context.WithCancel(life)
	c.api.ctx, c.api.cancel = context.WithCancel(life)

	if err := c.start(ctx); err != nil {
		stopping, cancel := context.WithTimeout(life, stopTimeout)
		defer cancel()
		return nil, errors.Join(err, c.Stop(stopping))
	}
	context.AfterFunc(ctx, func() {
		stopping, cancel := context.WithTimeout(life, stopTimeout)
		defer cancel()
		if err := c.Stop(stopping); err != nil {
			c.log.Error("the control plane did not stop cleanly", "error", err)
		}
	})
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	began := time.Now()
	// A component that ends while others start ends the start.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.api.ctx, func() { cancel(c.err) })()

	listener, err := c.prepare(ctx)
	if err != nil {
		return err
	}
	c.config.Progress("starting etcd and the API server")
	if err := c.startAPI(ctx, listener); err != nil {
		return err
	}
	c.log.Info("API server serves", "after", time.Since(began).Round(time.Millisecond), "url", c.config.server())
	c.startClients()
	c.config.Progress("API server serves")
	return nil
}

// prepare makes everything that can be had without a running component, and takes
// the process last, so that whatever is refused here can be tried again.
func (c *Cluster) prepare(ctx context.Context) (net.Listener, error) {
	var err error
	if c.lock, err = openDataDir(c.config); err != nil {
		return nil, err
	}
	if err := c.issue(time.Now()); err != nil {
		return nil, err
	}
	if err := ensureHostLink(c.config); err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(c.AdminREST())
	if err != nil {
		return nil, fmt.Errorf("client for storage: %w", err)
	}
	c.storage = newStorage(c.clients.ctx, c.config, c.paths, client)
	listener, err := listenAPI(ctx, c.config)
	if err != nil {
		return nil, err
	}
	c.file = &lumberjack.Logger{Filename: c.paths.log(), MaxSize: logMegabytes, MaxBackups: logBackups}
	if err := takeProcess(c.file, c.log, c.end); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// startAPI starts etcd and builds the API server beside it, then serves and waits
// for readiness.
func (c *Cluster) startAPI(ctx context.Context, listener net.Listener) error {
	began := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	database := make(chan error, 1)
	go func() {
		var err error
		if c.etcd, err = startEtcd(ctx, c.paths, databaseLogger(c.file, c.giveUp)); err != nil {
			cancel(err)
		} else {
			c.log.Debug("etcd is ready", "after", time.Since(began))
		}
		database <- err
	}()
	server, err := c.buildAPI(ctx, listener)
	select {
	case failed := <-database:
		err = errors.Join(err, failed)
	case <-c.lost:
		err = c.failure
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	c.log.Debug("API server is built", "after", time.Since(began))
	c.server = server
	go c.watchEtcd()
	c.run(&c.api, "API server", server.run)
	return server.waitServing(ctx)
}

func (c *Cluster) buildAPI(ctx context.Context, listener net.Listener) (*apiServer, error) {
	if err := waitSocket(ctx, c.paths.etcdSocket()); err != nil {
		return nil, err
	}
	return newAPIServer(c.api.ctx, c.config, c.paths, c.certs, listener)
}

// giveUp ends the control plane because its database did.
func (c *Cluster) giveUp(err *DatabaseError) {
	c.failure = err
	close(c.lost)
	c.end(err)
}

func (c *Cluster) watchEtcd() {
	select {
	case err := <-c.etcd.Err():
		c.end(fmt.Errorf("etcd ended: %w", err))
	case <-c.api.ctx.Done():
	}
}

// startClients starts everything that lives on the API, each as soon as the API
// lets it.
func (c *Cluster) startClients() {
	c.run(&c.clients, "disk reserve", func(ctx context.Context) error {
		keepReserve(ctx, c.paths, c.log)
		return nil
	})
	c.run(&c.clients, "database quota", func(ctx context.Context) error {
		keepQuota(ctx, c.etcd.Server, c.config.Progress, c.log)
		return nil
	})
	c.run(&c.clients, "controller manager", func(ctx context.Context) error {
		// It looks at the server's health itself, but only once a second.
		if err := c.server.waitReady(ctx); err != nil {
			return err
		}
		return runControllers(ctx, c.config, c.paths, c.certs)
	})
	c.run(&c.clients, "scheduler", func(ctx context.Context) error {
		err := c.server.waitAllowed(ctx, pki.SchedulerUser,
			authorizationv1.ResourceAttributes{Verb: "create", Resource: "bindings"},
			authorizationv1.ResourceAttributes{Verb: "patch", Resource: "persistentvolumes"}) // a role of its own
		if err != nil {
			return err
		}
		return runScheduler(ctx, c.paths)
	})
	c.run(&c.clients, "kube-proxy", func(ctx context.Context) error {
		err := c.server.waitAllowed(ctx, pki.ProxyUser, authorizationv1.ResourceAttributes{Verb: "watch", Resource: "services"})
		if err != nil {
			return err
		}
		return proxy.Run(ctx, proxy.Node{Name: c.config.NodeName, IP: c.config.NodeIP, PodCIDR: c.config.PodCIDR}, c.clientConfig(c.certs.Proxy))
	})
	c.run(&c.clients, "storage", func(ctx context.Context) error {
		client, err := c.server.client(ctx)
		if err != nil {
			return err
		}
		if err := createStorageClass(ctx, client); err != nil {
			return err
		}
		c.storage.Run(ctx)
		return nil
	})
	c.run(&c.clients, "load balancers", func(ctx context.Context) error {
		client, err := c.server.client(ctx)
		if err != nil {
			return err
		}
		return runLoadBalancers(ctx, c.config, client)
	})
	c.run(&c.clients, "objects and DNS", func(ctx context.Context) error {
		if err := applyObjects(ctx, c.config, c.server.loopback); err != nil {
			return err
		}
		err := c.server.waitAllowed(ctx, pki.DNSUser, authorizationv1.ResourceAttributes{Verb: "watch", Resource: "services"})
		if err != nil {
			return err
		}
		return runDNS(ctx, c.config, c.paths, func() { close(c.dns) })
	})
	c.run(&c.clients, "certificate renewal", c.renew)
	c.run(&c.clients, "steady state", settle)
}

// run runs one component in its group. A component that returns or panics before
// its group is stopped ends the control plane.
func (c *Cluster) run(g *group, name string, component func(context.Context) error) {
	g.wg.Go(func() {
		defer func() {
			if panicked := recover(); panicked != nil {
				c.end(fmt.Errorf("%s panicked: %v\n%s", name, panicked, debug.Stack()))
			}
		}()
		err := component(g.ctx)
		if g.ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("it returned without an error")
		}
		c.end(fmt.Errorf("%s ended: %w", name, err))
	})
}

// end records why the control plane cannot go on, and lets Wait return. The first
// reason counts.
func (c *Cluster) end(err error) {
	c.endOnce.Do(func() {
		c.err = err
		if err != nil {
			c.log.Error("the control plane ends", "error", err)
		}
		close(c.ended)
		c.clients.cancel()
		c.api.cancel()
	})
}

// Wait returns when the control plane has ended: nil after Stop, otherwise the
// reason, of type *DatabaseError when the database gave up. The caller should call
// Stop and end the process then; pods keep running.
func (c *Cluster) Wait() error {
	<-c.ended
	return c.err
}

// WaitNodeAPI returns when the API server may use the nodes' HTTPS APIs, through
// which kubectl logs, exec, port-forward and why go.
func (c *Cluster) WaitNodeAPI(ctx context.Context) error {
	return c.server.waitAllowed(ctx, pki.KubeletClientUser, authorizationv1.ResourceAttributes{Verb: "create", Resource: "nodes", Subresource: "proxy"})
}

// WaitDNS returns when cluster DNS answers, or ctx or the control plane ends.
func (c *Cluster) WaitDNS(ctx context.Context) error {
	select {
	case <-c.dns:
		return nil
	case <-c.ended:
		return errors.Join(errors.New("the control plane ended before DNS answered"), c.err)
	case <-ctx.Done():
		return fmt.Errorf("DNS does not answer yet: %w", context.Cause(ctx))
	}
}

// Stop stops everything in order, clients first, the database last, and returns
// when that is done or ctx ends, with what did not stop in time. When the database
// gave up, nothing can stop in order, and it returns at once. Pods, nftables rules
// and the interface stay; Purge removes the latter two.
func (c *Cluster) Stop(ctx context.Context) error {
	c.stopOnce.Do(func() {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		go func() {
			select {
			case <-c.lost:
				cancel(c.failure)
			case <-ctx.Done():
			}
		}()
		c.clients.cancel()
		errs := []error{c.clients.wait(ctx, "controllers, scheduler, proxy and DNS")}
		c.api.cancel()
		errs = append(errs, c.api.wait(ctx, "API server"))
		c.closeDatabase()
		c.end(nil)
		if c.lock != nil {
			errs = append(errs, c.lock.Close())
		}
		c.stopErr = errors.Join(errs...)
	})
	return c.stopErr
}

// closeDatabase closes the database, unless it gave up: it would never end.
func (c *Cluster) closeDatabase() {
	select {
	case <-c.lost:
		return
	default:
	}
	if c.etcd == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		c.etcd.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-c.lost:
	}
}

func (g *group) wait(ctx context.Context, what string) error {
	done := make(chan struct{})
	go func() {
		g.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s did not stop in time: %w", what, context.Cause(ctx))
	}
}

// clientConfig is how a user of the API reaches it from this machine. Requests
// are not throttled on the client's side: the server's own limits hold.
func (c *Cluster) clientConfig(user pki.Pair) *rest.Config {
	return &rest.Config{
		Host: c.config.server(),
		TLSClientConfig: rest.TLSClientConfig{
			CAFile: c.certs.CA.CertFile, CertFile: user.CertFile, KeyFile: user.KeyFile,
		},
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf},
		QPS:           -1,
	}
}

// NodeREST is how the node agent reaches the API, as system:node:NODENAME. The
// certificate is read from files again when it is renewed.
func (c *Cluster) NodeREST() *rest.Config { return c.clientConfig(c.certs.Node) }

// AdminREST is how the administrator reaches the API.
func (c *Cluster) AdminREST() *rest.Config { return c.clientConfig(c.certs.Admin) }

// AdminKubeconfig is the administrator's kubeconfig file, mode 0600.
func (c *Cluster) AdminKubeconfig() string { return c.paths.kubeconfig("admin") }

// NodeTLS is what the node's HTTPS API serves with: PEM files of its certificate,
// key, and of the authority that its clients' certificates must come from.
func (c *Cluster) NodeTLS() (certFile, keyFile, clientCAFile string) {
	return c.certs.NodeServing.CertFile, c.certs.NodeServing.KeyFile, c.certs.CA.CertFile
}

// ClusterDNS are the name servers for pods' resolv.conf.
func (c *Cluster) ClusterDNS() []string { return []string{c.config.serviceIP(dnsIndex).String()} }

// ClusterDomain is the DNS domain of Services.
func (c *Cluster) ClusterDomain() string { return c.config.ClusterDomain }

// URL is where the API is reached from this machine.
func (c *Cluster) URL() string { return c.config.server() }

// LogFile is where the components log to.
func (c *Cluster) LogFile() string { return c.paths.log() }
