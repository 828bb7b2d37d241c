package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/mesh/identity"
)

// Options says what the control plane serves, and where.
type Options struct {
	Client kubernetes.Interface
	// Namespace keeps the CA's Secret; it has to exist.
	Namespace string
	// Listener is where the API server and the sidecars come in.
	Listener net.Listener
	// Hosts are the names and addresses by which they do: the first one is the
	// sidecars' and, without a Service, the API server's.
	Hosts []string
	// Service is the Service in front of the listener, where there is one.
	Service string
	Form    mesh.Form
	Image   string
	// ProbesOnly rewrites the probes and redirects nothing: no mutual TLS.
	ProbesOnly bool
	Strict     bool
	Log        *slog.Logger
}

const (
	// authorityEvery is how often the CA's age, and other replicas' CA, is looked at.
	authorityEvery = time.Minute
	// membersEvery is how often the list of members is made anew.
	membersEvery  = time.Second
	shutdownLimit = 5 * time.Second
)

// Serve registers the webhook and answers until ctx ends. The registration stays,
// for the next start; [Unregister] removes it.
func Serve(ctx context.Context, o Options) error {
	authority, err := NewAuthority(ctx, o.Client, o.Namespace, o.Log)
	if err != nil {
		return err
	}
	port := o.Listener.Addr().(*net.TCPAddr).Port
	url := fmt.Sprintf("https://%s", net.JoinHostPort(o.Hosts[0], fmt.Sprint(port)))
	var list memberList
	mux := http.NewServeMux()
	(&Admit{Log: o.Log, Injection: func() mesh.Injection {
		in := mesh.Injection{Form: o.Form, Image: o.Image}
		if !o.ProbesOnly {
			in.CAURL, in.CABundle = url, string(authority.CA().Bundle())
		}
		return in
	}}).Register(mux)
	(&identity.Server{CA: authority.CA, Authenticate: authenticate(o.Client), Members: list.get, Log: o.Log}).Register(mux)
	serving := &identity.Serving{Hosts: o.Hosts, CA: authority.CA}
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	secure := tls.NewListener(o.Listener, &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: serving.GetCertificate, NextProtos: []string{"h2", "http/1.1"},
	})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(secure) }()
	defer func() { _ = server.Close() }()
	watchMembers(ctx, o.Client, &list)

	registration := Registration{Namespace: o.Namespace, Service: o.Service, Strict: o.Strict}
	if o.Service == "" {
		registration.URL = url
	}
	registered := ""
	ticker := time.NewTicker(authorityEvery)
	defer ticker.Stop()
	for {
		// The API server has to know a CA before a certificate of it is shown. A new
		// CA is vouched for by the one before, so either order works.
		if bundle := authority.CA().Bundle(); string(bundle) != registered {
			registration.CABundle = bundle
			if err := Register(ctx, o.Client, registration); err != nil {
				return err
			}
			registered = string(bundle)
			o.Log.Info("the webhook is registered", "name", ConfigurationName, "url", url)
		}
		select {
		case <-ctx.Done():
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
			defer cancel()
			return server.Shutdown(ending)
		case err := <-ended:
			return errors.Join(errors.New("the webhook's server broke"), err)
		case <-ticker.C:
			if err := authority.refresh(ctx); err != nil && ctx.Err() == nil {
				o.Log.Error("the mesh's CA could not be refreshed; going on with the one in use", "error", err)
			}
		}
	}
}

// watchMembers keeps the list up to date until ctx ends.
func watchMembers(ctx context.Context, client kubernetes.Interface, list *memberList) {
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, services := factory.Core().V1().Pods(), factory.Core().V1().Services()
	endpointSlices := factory.Discovery().V1().EndpointSlices()
	synced := []cache.InformerSynced{pods.Informer().HasSynced, services.Informer().HasSynced, endpointSlices.Informer().HasSynced}
	factory.Start(ctx.Done())
	go func() {
		defer factory.Shutdown()
		if !cache.WaitForCacheSync(ctx.Done(), synced...) {
			return
		}
		ticker := time.NewTicker(membersEvery)
		defer ticker.Stop()
		for {
			// Listing from a cache does not fail.
			p, _ := pods.Lister().List(labels.Everything())
			s, _ := services.Lister().List(labels.Everything())
			e, _ := endpointSlices.Lister().List(labels.Everything())
			latest := members(p, s, e)
			list.latest.Store(&latest)
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
}
