package cri

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	probehttp "k8s.io/kubernetes/pkg/probe/http"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/sense/containers"
)

// Hook is a lifecycle hook that is to run now.
type Hook struct {
	Kind        fact.HookKind
	Pod         *v1.Pod
	Container   *v1.Container
	ContainerID string
	// PodIPs are the pod's addresses: an httpGet without host goes to the first.
	PodIPs []string
}

// hookErrorMax bounds what is kept of a hook's error, which has its output in it.
const hookErrorMax = 1 << 10

// RunHook runs a lifecycle hook (exec, httpGet with kubelet's fall-back from
// https to http, sleep) and says how it went, in kubelet's words. It ends with
// ctx at the latest: the caller bounds a preStop hook by the grace period. The
// text of the error may hold secrets, as the hook's output is in it: it belongs
// into the journal, not into a Kubernetes event.
func (c *Client) RunHook(ctx context.Context, h Hook) fact.HookRan {
	began := time.Now()
	ran := fact.HookRan{Hook: h.Kind}
	handler := handlerOf(h)
	if handler == nil {
		return ran
	}
	// kubelet's own runner: its rules and wording are what users know.
	runner := lifecycle.NewHandlerRunner(boundDoer{ctx}, commands{c}, addresses(h.PodIPs), nil)
	message, err := runner.Run(containers.Quiet(ctx), kubecontainer.ContainerID{Type: c.Name(), ID: containers.Bare(h.ContainerID)}, h.Pod, h.Container, handler)
	ran.Took = time.Since(began)
	if err != nil {
		ran.Error = string(clip([]byte(message), hookErrorMax))
		// Not ctx.Err(): on a busy machine the runtime's answer may come before it knows.
		deadline, bounded := ctx.Deadline()
		ran.Timeout = bounded && !time.Now().Before(deadline)
	}
	return ran
}

func handlerOf(h Hook) *v1.LifecycleHandler {
	switch {
	case h.Container.Lifecycle == nil:
		return nil
	case h.Kind == fact.PreStop:
		return h.Container.Lifecycle.PreStop
	}
	return h.Container.Lifecycle.PostStart
}

// commands runs a hook's command. It has no timeout of its own: ctx bounds it.
type commands struct{ client *Client }

func (r commands) RunInContainer(ctx context.Context, id kubecontainer.ContainerID, command []string, timeout time.Duration) ([]byte, error) {
	stdout, stderr, err := r.client.runtime.ExecSync(ctx, id.ID, command, timeout)
	return append(stdout, stderr...), err
}

// addresses answers the runner's question where the pod is.
type addresses []string

func (a addresses) GetPod(_ context.Context, uid types.UID) (*kubecontainer.Pod, error) {
	return &kubecontainer.Pod{ID: uid}, nil
}

func (a addresses) GetPodStatus(_ context.Context, pod *kubecontainer.Pod) (*kubecontainer.PodStatus, error) {
	return &kubecontainer.PodStatus{ID: pod.ID, IPs: a}, nil
}

// hookClient must never carry credentials: a hook's target is whoever the pod
// names. It verifies no certificate and follows redirects to the same host only,
// as kubelet does.
var hookClient = &http.Client{
	Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	},
	CheckRedirect: probehttp.RedirectChecker(false),
}

// boundDoer ends requests with the hook's context, which the runner does not pass on.
type boundDoer struct{ ctx context.Context }

func (d boundDoer) Do(r *http.Request) (*http.Response, error) {
	return hookClient.Do(r.WithContext(d.ctx))
}
