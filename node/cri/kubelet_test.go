package cri_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	cadvisor "github.com/google/cadvisor/lib/model"
	"go.opentelemetry.io/otel/trace/noop"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	criapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/kuberuntime"
	"k8s.io/kubernetes/pkg/kubelet/logs"
	proberesults "k8s.io/kubernetes/pkg/kubelet/prober/results"

	"whylet.dev/whylet/node/cri"
)

// kubelet is kubelet's own runtime manager, over a runtime that only writes down
// what it is told. What kubelet asks of itself (environment, mounts, hostname…)
// is answered with what our builders are given, so that a difference can only
// come from the building.
type kubelet struct {
	manager kuberuntime.KubeGenericRuntime
	runtime *recordingRuntime
	images  *userImages
	answers answers
}

// answers are the parts of a pod's configuration that both sides start from.
type answers struct {
	env    []kubecontainer.EnvVar
	mounts []kubecontainer.Mount
	dns    *runtimeapi.DNSConfig
	groups []int64
	cgroup string
	domain string
	users  *runtimeapi.UserNamespace
}

const (
	testLogs   = "pods-logs"
	testMemory = 8 << 30
)

func newKubelet(t testing.TB, root string) *kubelet {
	t.Helper()
	k := &kubelet{
		runtime: &recordingRuntime{},
		images:  &userImages{},
	}
	nothing := bystander{}
	parallel := int32(1)
	manager, _, err := kuberuntime.NewKubeGenericRuntimeManager(
		silent(), &silentRecorder{},
		proberesults.NewManager(), proberesults.NewManager(), proberesults.NewManager(),
		root, logsDir(root),
		&cadvisor.MachineInfo{MemoryCapacity: testMemory},
		nothing, 110, kubecontainer.RealOS{}, helper{k: k}, nil,
		flowcontrol.NewBackOff(time.Second, time.Minute),
		false, &parallel, 0, 0,
		string(kubeletconfig.NeverVerify), nil, "", "",
		singleProcessOOMKill(), true, metav1.Duration{Duration: 100 * time.Millisecond}, nil,
		k.runtime, k.images,
		cm.NewStubContainerManager(), logs.NewStubContainerLogManager(), nil,
		false, "", func() v1.ResourceList { return nil }, nil, kubeletconfig.NoneMemoryReservationPolicy,
		nothing, noop.NewTracerProvider(), nil, nil, nothing,
	)
	if err != nil {
		t.Fatal(err)
	}
	k.manager = manager
	return k
}

// singleProcessOOMKill is what kubelet's defaulting sets: on v1 there is nothing else.
func singleProcessOOMKill() *bool {
	single := !cri.DetectMachine(testMemory).CgroupV2
	return &single
}

// sync lets kubelet start the pod, and gives what it told the runtime, or its
// words about the container it could not configure.
func (k *kubelet) sync(pod *v1.Pod) (sandbox *runtimeapi.PodSandboxConfig, containers []*runtimeapi.ContainerConfig, failed error) {
	k.runtime.reset()
	result := k.manager.SyncPod(silent(), pod.DeepCopy(), &kubecontainer.PodStatus{ID: pod.UID}, nil,
		flowcontrol.NewBackOff(time.Second, time.Minute), false)
	for _, r := range result.SyncResults {
		if r.Error != nil && failed == nil {
			failed = fmt.Errorf("%s", r.Message)
		}
	}
	if result.SyncError != nil {
		failed = result.SyncError
	}
	return k.runtime.sandbox, k.runtime.containers, failed
}

func silent() context.Context { return klog.NewContext(context.Background(), logr.Discard()) }

func logsDir(root string) string { return root + "/" + testLogs }

// recordingRuntime keeps what it is asked to make, and says that all went well.
type recordingRuntime struct {
	criapi.RuntimeService
	mu         sync.Mutex
	sandbox    *runtimeapi.PodSandboxConfig
	containers []*runtimeapi.ContainerConfig
}

func (r *recordingRuntime) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sandbox, r.containers = nil, nil
}

func (*recordingRuntime) Version(context.Context, string) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "recording", RuntimeVersion: "1.0.0", RuntimeApiVersion: "v1"}, nil
}

func (r *recordingRuntime) RunPodSandbox(_ context.Context, c *runtimeapi.PodSandboxConfig, _ string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sandbox = c
	return "sandbox", nil
}

func (r *recordingRuntime) PodSandboxStatus(context.Context, string, bool) (*runtimeapi.PodSandboxStatusResponse, error) {
	return &runtimeapi.PodSandboxStatusResponse{Status: &runtimeapi.PodSandboxStatus{
		Id: "sandbox", Network: &runtimeapi.PodSandboxNetworkStatus{Ip: "10.0.0.1"},
	}}, nil
}

func (r *recordingRuntime) CreateContainer(_ context.Context, _ string, c *runtimeapi.ContainerConfig, _ *runtimeapi.PodSandboxConfig) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.containers = append(r.containers, c)
	return c.Metadata.Name, nil
}

func (*recordingRuntime) StartContainer(context.Context, string) error { return nil }

// userImages has every image, with the user that the test sets.
type userImages struct {
	criapi.ImageManagerService
	user cri.ImageUser
}

func (u *userImages) ImageStatus(_ context.Context, image *runtimeapi.ImageSpec, _ bool) (*runtimeapi.ImageStatusResponse, error) {
	i := &runtimeapi.Image{Id: "sha256:" + image.Image, Size: 1, Username: u.user.Name}
	if u.user.UID != nil {
		i.Uid = &runtimeapi.Int64Value{Value: *u.user.UID}
	}
	return &runtimeapi.ImageStatusResponse{Image: i}, nil
}

// helper answers kubelet's questions about a pod.
type helper struct {
	kubecontainer.RuntimeHelper
	k *kubelet
}

func (h helper) GenerateRunContainerOptions(context.Context, *v1.Pod, *v1.Container, string, []string, kubecontainer.ImageVolumes) (*kubecontainer.RunContainerOptions, func(), error) {
	return &kubecontainer.RunContainerOptions{Envs: h.k.answers.env, Mounts: h.k.answers.mounts}, nil, nil
}

func (h helper) GetPodDNS(context.Context, *v1.Pod) (*runtimeapi.DNSConfig, error) {
	return h.k.answers.dns, nil
}

func (h helper) GetPodCgroupParent(*v1.Pod) string { return h.k.answers.cgroup }

func (h helper) GetPodDir(uid types.UID) string { return os.TempDir() + "/" + string(uid) }

func (h helper) GeneratePodHostNameAndDomain(_ klog.Logger, pod *v1.Pod) (string, string, error) {
	return cri.Hostname(pod, h.k.answers.domain)
}

func (h helper) GetExtraSupplementalGroupsForPod(*v1.Pod) []int64 { return h.k.answers.groups }

func (h helper) GetOrCreateUserNamespaceMappings(klog.Logger, *v1.Pod, string) (*runtimeapi.UserNamespace, error) {
	return h.k.answers.users, nil
}

func (helper) PrepareDynamicResources(context.Context, *v1.Pod) error { return nil }
func (helper) OnPodSandboxReady(context.Context, *v1.Pod) error       { return nil }

// bystander takes what kubelet reports and says that nothing has ended.
type bystander struct{}

func (bystander) IsPodTerminationRequested(types.UID) bool         { return false }
func (bystander) ShouldPodContentBeRemoved(types.UID) bool         { return false }
func (bystander) ShouldPodRuntimeBeRemoved(types.UID) bool         { return false }
func (bystander) RecordInitContainerStarted(types.UID, time.Time)  {}
func (bystander) RecordInitContainerFinished(types.UID, time.Time) {}
func (bystander) RecordImageStartedPulling(types.UID)              {}
func (bystander) RecordImageFinishedPulling(types.UID)             {}

// silentRecorder drops kubelet's events.
type silentRecorder struct{ record.FakeRecorder }

func (s *silentRecorder) WithLogger(klog.Logger) record.EventRecorderLogger { return s }
