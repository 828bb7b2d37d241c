package volumes

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	certinformersv1 "k8s.io/client-go/informers/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/kubelet/clustertrustbundle"
	"k8s.io/kubernetes/pkg/kubelet/podcertificate"
	"k8s.io/utils/clock"
)

const (
	// The manager of trust bundles caches nothing: it drops a stale entry in a handler of
	// its own, perhaps after the pods were woken.
	trustCacheSize = 1
	trustCacheTTL  = 0
	// firstAnswer bounds how long a mount waits for the bundles or for the pod's
	// certificate: most signers answer in less, and each failed attempt posts a
	// FailedMount event.
	firstAnswer = time.Second
	answerCheck = 20 * time.Millisecond
)

// errNoTrustBundles and errNoPodCertificates occur only while no pod was registered
// that has such a volume.
var (
	errNoTrustBundles    = errors.New("no pod with a trust bundle is known")
	errNoPodCertificates = errors.New("no pod with a certificate is known")
)

// certificates has the trust bundles and pod certificates of projected volumes, by
// kubelet's own managers. Each manager, with its watches, starts with the first pod
// that needs it: most nodes have none. It is the pod manager of kubelet's manager of
// certificates.
type certificates struct {
	m   *Manager
	ctx context.Context // ends all watches

	mu     sync.Mutex
	trust  clustertrustbundle.Manager // nil until needed
	synced cache.InformerSynced       // whether trust knows all bundles
	issuer podcertificate.Manager     // nil until needed
}

// track takes over a pod that was registered or changed.
func (c *certificates) track(pod *v1.Pod) {
	if projects(pod, isTrustBundle) {
		if err := c.startTrust(); err != nil {
			c.m.cfg.Log.Error("trust bundles cannot be mounted", "error", err)
		}
	}
	if projects(pod, isPodCertificate) {
		c.issuingManager(true).TrackPod(c.ctx, pod)
	}
}

// forget drops the keys and certificates of a pod.
func (c *certificates) forget(pod *v1.Pod) {
	if issuer := c.issuingManager(false); issuer != nil && pod != nil {
		issuer.ForgetPod(c.ctx, pod)
	}
}

// startTrust starts the manager of trust bundles.
func (c *certificates) startTrust() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trust != nil {
		return nil
	}
	factory := informers.NewSharedInformerFactory(c.m.cfg.Client, 0)
	bundles := factory.Certificates().V1().ClusterTrustBundles().Informer()
	manager, err := clustertrustbundle.NewGAInformerManager(c.ctx, factory, trustCacheSize, trustCacheTTL)
	if err != nil {
		return fmt.Errorf("watch trust bundles: %w", err)
	}
	c.trust, c.synced = manager, bundles.HasSynced
	factory.Start(c.ctx.Done())
	if _, err := bundles.AddEventHandler(onChange(func(any) { c.m.configs.Changed(c.projecting(isTrustBundle)) })); err != nil {
		return fmt.Errorf("follow changes of trust bundles: %w", err)
	}
	return nil
}

// trusted returns the manager of trust bundles. It waits until the manager knows all
// bundles, at most firstAnswer.
func (c *certificates) trusted(ctx context.Context) (clustertrustbundle.Manager, error) {
	c.mu.Lock()
	manager, synced := c.trust, c.synced
	c.mu.Unlock()
	if manager == nil {
		return nil, errNoTrustBundles
	}
	c.await(ctx, func(context.Context) (bool, error) { return synced(), nil })
	return manager, nil
}

// ordered gives anchors an order that lasts. The manager shuffles them each time, and
// what differs is written into the volumes anew.
func ordered(anchors []byte, err error) ([]byte, error) {
	blocks := bytes.SplitAfter(anchors, []byte("-----END CERTIFICATE-----\n"))
	slices.SortFunc(blocks, bytes.Compare)
	return bytes.Join(blocks, nil), err
}

// issuingManager returns the manager of pod certificates; start makes it if there is
// none, otherwise it may be nil.
func (c *certificates) issuingManager(start bool) podcertificate.Manager {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.issuer != nil || !start {
		return c.issuer
	}
	client, name := c.m.cfg.Client, c.m.cfg.NodeName
	// The node authorizer demands these selectors.
	requests := filtered(client, "spec.nodeName", name)
	nodes := filtered(client, metav1.ObjectNameField, name)
	informer := tombstoneless{requests.Certificates().V1().PodCertificateRequests()}
	manager := podcertificate.NewIssuingManager(client, c, recorder{c.m.cfg.Event},
		informer, nodes.Core().V1().Nodes(), types.NodeName(name), clock.RealClock{})
	// An informer refuses handlers only when it has ended.
	_, _ = informer.Informer().AddEventHandler(onChange(c.answered))
	requests.Start(c.ctx.Done())
	nodes.Start(c.ctx.Done())
	go manager.Run(c.ctx)
	c.issuer = manager
	return manager
}

// tombstoneless is an informer whose handlers get the request itself when a relist
// shows that it is gone. Kubelet's manager panics on a tombstone.
type tombstoneless struct {
	certinformersv1.PodCertificateRequestInformer
}

func (t tombstoneless) Informer() cache.SharedIndexInformer {
	return unwrappingInformer{t.PodCertificateRequestInformer.Informer()}
}

type unwrappingInformer struct{ cache.SharedIndexInformer }

func (i unwrappingInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(unwrappingHandler{h})
}

type unwrappingHandler struct{ cache.ResourceEventHandler }

func (h unwrappingHandler) OnDelete(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if request, ok := object.(*certificatesv1.PodCertificateRequest); ok {
		h.ResourceEventHandler.OnDelete(request)
	}
}

// answered wakes the pod whose request the signer decided, once kubelet's manager has
// taken in the decision, at the latest after firstAnswer.
func (c *certificates) answered(object any) {
	request, ok := object.(*certificatesv1.PodCertificateRequest)
	if !ok || len(request.Status.Conditions) == 0 {
		return
	}
	go func() {
		c.await(c.ctx, func(ctx context.Context) (bool, error) { return c.tookIn(ctx, request), nil })
		c.m.configs.Changed([]types.UID{request.Spec.PodUID})
	}()
}

// tookIn reports whether kubelet's manager has the request's certificate for the pod,
// or an error where the request has none.
func (c *certificates) tookIn(ctx context.Context, request *certificatesv1.PodCertificateRequest) bool {
	pod, ok := c.GetPodByUID(request.Spec.PodUID)
	if !ok {
		return true
	}
	issued, _ := pem.Decode([]byte(request.Status.CertificateChain))
	for _, v := range pod.Spec.Volumes {
		for i := 0; v.Projected != nil && i < len(v.Projected.Sources); i++ {
			if !isPodCertificate(&v.Projected.Sources[i]) {
				continue
			}
			_, chain, err := c.issuingManager(false).GetPodCertificateCredentialBundle(ctx, pod.Namespace, pod.Name, string(pod.UID), v.Name, i)
			known, _ := pem.Decode(chain)
			if issued == nil && err != nil || issued != nil && known != nil && bytes.Equal(issued.Bytes, known.Bytes) {
				return true
			}
		}
	}
	return false
}

// credentials returns the pod's key and certificate chain as PEM. It waits for the
// first answer of the signer, at most firstAnswer.
func (c *certificates) credentials(ctx context.Context, namespace, name, uid, volume string, source int) (key, chain []byte, err error) {
	manager := c.issuingManager(false)
	if manager == nil {
		return nil, nil, errNoPodCertificates
	}
	c.await(ctx, func(ctx context.Context) (bool, error) {
		key, chain, err = manager.GetPodCertificateCredentialBundle(ctx, namespace, name, uid, volume, source)
		return err == nil, nil
	})
	return key, chain, err
}

// await returns when done is true, the agent ends, or firstAnswer is over.
func (c *certificates) await(ctx context.Context, done wait.ConditionWithContextFunc) {
	ctx, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	_ = wait.PollUntilContextCancel(ctx, answerCheck, true, done) // whoever asks sees what is missing
}

func filtered(client kubernetes.Interface, field, value string) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(field, value).String()
	}))
}

// onChange calls f with an object that is new, changed or gone.
func onChange(f func(object any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: f, UpdateFunc: func(_, now any) { f(now) }, DeleteFunc: f}
}

func isTrustBundle(p *v1.VolumeProjection) bool    { return p.ClusterTrustBundle != nil }
func isPodCertificate(p *v1.VolumeProjection) bool { return p.PodCertificate != nil }

// projects reports whether a projected volume of the pod has such a source.
func projects(pod *v1.Pod, is func(*v1.VolumeProjection) bool) bool {
	for i := range pod.Spec.Volumes {
		projected := pod.Spec.Volumes[i].Projected
		for j := 0; projected != nil && j < len(projected.Sources); j++ {
			if is(&projected.Sources[j]) {
				return true
			}
		}
	}
	return false
}

// projecting lists the pods that have such a source.
func (c *certificates) projecting(is func(*v1.VolumeProjection) bool) []types.UID {
	var users []types.UID
	for _, pod := range c.GetPods() {
		if projects(pod, is) {
			users = append(users, pod.UID)
		}
	}
	return users
}

// GetPodByUID returns a pod that is not torn down.
func (c *certificates) GetPodByUID(uid types.UID) (*v1.Pod, bool) {
	p, ok := c.m.lookup(uid)
	if !ok {
		return nil, false
	}
	pod := p.current()
	return pod, pod != nil
}

// GetPods returns all pods that are not torn down.
func (c *certificates) GetPods() []*v1.Pod {
	c.m.mu.Lock()
	known := slices.Collect(maps.Values(c.m.pods))
	c.m.mu.Unlock()
	var pods []*v1.Pod
	for _, p := range known {
		if pod := p.current(); pod != nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// current returns the pod as last registered, nil once it is torn down.
func (p *podVolumes) current() *v1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return nil
	}
	return p.pod
}
