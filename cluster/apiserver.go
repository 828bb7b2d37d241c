package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"whylet.dev/whylet/cluster/metricsapi"
	"whylet.dev/whylet/cluster/pki"
)

// readyPoll is how often a starting API server is asked whether it is ready.
const readyPoll = 20 * time.Millisecond

// apiServer is a kube-apiserver that is built but does not serve yet.
type apiServer struct {
	chain *aggregator.APIAggregator
	// loopback reaches the server with every right, over its own certificate.
	loopback *rest.Config
}

// newAPIServer builds the server chain: aggregator, Kubernetes' own groups with
// metrics.k8s.io added, and custom resources. It blocks until etcd answers.
func newAPIServer(ctx context.Context, c Config, p paths, certs *pki.Set, listener net.Listener) (*apiServer, error) {
	opts := options.NewServerRunOptions()
	if err := parseFlags("kube-apiserver", opts.Flags(), apiServerFlags(c, p, certs)); err != nil {
		return nil, err
	}
	if err := opts.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("set feature gates: %w", err)
	}
	opts.SecureServing.Listener = listener
	completed, err := opts.Complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("complete API server options: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("API server options: %w", errs[0])
	}
	config, err := app.NewConfig(completed)
	if err != nil {
		return nil, fmt.Errorf("configure API server: %w", err)
	}
	if c.Tell != nil && config.Aggregator.GenericConfig.AuditBackend == nil {
		backend := deletions{c.Tell}
		config.Aggregator.GenericConfig.AuditBackend, config.Aggregator.GenericConfig.AuditPolicyRuleEvaluator = backend, backend
	}
	chainConfig, err := config.Complete()
	if err != nil {
		return nil, fmt.Errorf("complete API server configuration: %w", err)
	}
	chain, err := app.CreateServerChain(chainConfig)
	if err != nil {
		return nil, fmt.Errorf("build API server: %w", err)
	}
	s := &apiServer{chain: chain, loopback: chain.GenericAPIServer.LoopbackClientConfig}
	return s, s.installMetrics()
}

// installMetrics adds metrics.k8s.io to the server behind the aggregator, which
// is the one whose groups are served from this process.
func (s *apiServer) installMetrics() error {
	behind, ok := s.chain.GenericAPIServer.NextDelegate().(*genericapiserver.GenericAPIServer)
	if !ok {
		return fmt.Errorf("install metrics API: unexpected server behind the aggregator (%T)", s.chain.GenericAPIServer.NextDelegate())
	}
	client, err := kubernetes.NewForConfig(s.loopback)
	if err != nil {
		return fmt.Errorf("client for the metrics API: %w", err)
	}
	if err := metricsapi.Install(behind, client); err != nil {
		return fmt.Errorf("install metrics API: %w", err)
	}
	return nil
}

// run serves until ctx ends.
func (s *apiServer) run(ctx context.Context) error {
	prepared, err := s.chain.PrepareRun()
	if err != nil {
		return fmt.Errorf("prepare API server: %w", err)
	}
	return prepared.Run(ctx)
}

// waitServing returns when every group is served and requests are answered. Two
// checks are left to waitReady: the hooks that write RBAC's default roles and the
// system's priority classes begin with a second of sleep, although on a second
// start there is nothing to write. Administrators and nodes need neither.
func (s *apiServer) waitServing(ctx context.Context) error {
	return s.waitChecks(ctx, "poststarthook/rbac/bootstrap-roles", "poststarthook/scheduling/bootstrap-system-priority-classes")
}

// waitReady returns when /readyz says ok.
func (s *apiServer) waitReady(ctx context.Context) error { return s.waitChecks(ctx) }

// client is for those parts that live in the server's process, once /readyz says ok.
func (s *apiServer) client(ctx context.Context) (kubernetes.Interface, error) {
	if err := s.waitReady(ctx); err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(s.loopback)
}

// waitChecks returns when all checks of /readyz but the excepted ones are met.
// Otherwise the error names those that are not.
func (s *apiServer) waitChecks(ctx context.Context, except ...string) error {
	client, err := kubernetes.NewForConfig(s.loopback)
	if err != nil {
		return fmt.Errorf("client for readiness: %w", err)
	}
	unmet := "no answer"
	err = wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		request := client.RESTClient().Get().AbsPath("/readyz")
		for _, check := range except {
			request.Param("exclude", check)
		}
		var code int
		body, err := request.Do(ctx).StatusCode(&code).Raw()
		if code == http.StatusOK {
			return true, nil
		}
		if checks := failedChecks(body); checks != "" {
			unmet = checks
		} else if err != nil {
			unmet = err.Error()
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("API server did not become ready: %w; not met: %s", context.Cause(ctx), unmet)
	}
	return nil
}

// waitAllowed returns when a user may do what all of the accesses describe, which
// is when its role and binding are written and the authorizer has seen them.
func (s *apiServer) waitAllowed(ctx context.Context, user string, accesses ...authorizationv1.ResourceAttributes) error {
	client, err := kubernetes.NewForConfig(s.loopback)
	if err != nil {
		return fmt.Errorf("client for access reviews: %w", err)
	}
	for _, access := range accesses {
		review := &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &access},
		}
		err := wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
			answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed, nil
		})
		if err != nil {
			return fmt.Errorf("%s was not allowed to %s %s: %w", user, access.Verb, access.Resource, context.Cause(ctx))
		}
	}
	return nil
}

// failedChecks picks the names of failed checks from the body of /readyz, where
// each is on a line such as "[-]etcd failed: reason withheld".
func failedChecks(body []byte) string {
	var names []string
	for line := range strings.Lines(string(body)) {
		if rest, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ := strings.Cut(rest, " ")
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// apiServerFlags differs from a kubeadm cluster's in this: etcd behind a unix
// socket, one fixed endpoint for the kubernetes Service instead of a lease that
// is written every ten seconds, and none of what only serves several API servers
// or an operator's profiling.
func apiServerFlags(c Config, p paths, certs *pki.Set) []string {
	return []string{
		"--etcd-servers=unix://" + p.etcdSocket(),
		"--etcd-db-metric-poll-interval=0",

		// Who follows a log or a shell would hold up the end for a minute otherwise.
		"--shutdown-send-retry-after=true",

		"--secure-port=" + strconv.Itoa(c.APIPort),
		"--bind-address=" + c.APIAddress,
		"--advertise-address=" + c.HostAddress,
		"--endpoint-reconciler-type=master-count",
		"--service-cluster-ip-range=" + c.ServiceCIDR,

		"--tls-cert-file=" + certs.APIServer.CertFile,
		"--tls-private-key-file=" + certs.APIServer.KeyFile,
		"--client-ca-file=" + certs.CA.CertFile,
		"--service-account-issuer=" + c.issuer(),
		"--service-account-key-file=" + certs.SigningPub,
		"--service-account-signing-key-file=" + certs.SigningKey,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",

		"--kubelet-client-certificate=" + certs.KubeletClient.CertFile,
		"--kubelet-client-key=" + certs.KubeletClient.KeyFile,
		"--kubelet-certificate-authority=" + certs.CA.CertFile,
		"--kubelet-preferred-address-types=InternalIP,Hostname",

		"--requestheader-client-ca-file=" + certs.FrontProxyCA.CertFile,
		"--requestheader-allowed-names=" + pki.FrontProxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + certs.FrontProxy.CertFile,
		"--proxy-client-key-file=" + certs.FrontProxy.KeyFile,

		"--profiling=false",
		"--enable-priority-and-fairness=false",
		"--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false",
	}
}
