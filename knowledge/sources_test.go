package knowledge

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// formats are what Go modules of go.mod, and Go itself, make their messages of, each in the
// file that has it. A sample that fits one is what that version says.
var formats = []struct{ module, file, format string }{
	{"k8s.io/apiserver", "pkg/admission/plugin/resourcequota/controller.go", "exceeded quota: %s, requested: %s, used: %s, limited: %s"},
	{"k8s.io/apiserver", "pkg/admission/plugin/resourcequota/controller.go", "failed quota: %s: %v"},
	{"k8s.io/apiserver", "pkg/admission/plugin/namespace/lifecycle/admission.go", "unable to create new content in namespace %s because it is being terminated"},
	{"k8s.io/apiserver", "pkg/admission/plugin/webhook/errors/statuserror.go", "admission webhook %q denied the request"},
	{"k8s.io/pod-security-admission", "admission/admission.go", "violates PodSecurity %q: %s"},
	{"k8s.io/kubernetes", "plugin/pkg/admission/serviceaccount/admission.go", "error looking up service account %s/%s: %w"},
	{"k8s.io/kubernetes", "plugin/pkg/admission/priority/admission.go", "no PriorityClass with name %v was found"},
	{"k8s.io/kubernetes", "plugin/pkg/admission/runtimeclass/admission.go", "pod rejected: RuntimeClass %q not found"},
	{"k8s.io/kubernetes", "pkg/kubelet/util/manager/watch_based_manager.go", "object %q/%q not registered"},
	{"k8s.io/kubernetes", "plugin/pkg/admission/limitranger/admission.go", "maximum %s usage per %s is %s, but limit is %s"},

	{"k8s.io/kubernetes", "pkg/scheduler/framework/types.go", "0/%v nodes are available"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/volumebinding/binder.go", "node(s) didn't match PersistentVolume's node affinity"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/volumebinding/binder.go", "node(s) didn't find available persistent volumes to bind"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/volumebinding/volume_binding.go", "pod has unbound immediate PersistentVolumeClaims"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/noderesources/fit.go", "Insufficient %v"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/noderesources/fit.go", "Too many pods"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/nodeports/node_ports.go", "node(s) didn't have free ports for the requested pod ports"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/nodevolumelimits/csi.go", "node(s) exceed max volume count"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go", "node(s) were unschedulable"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go", "node(s) had untolerated taint(s)"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go", "node(s) didn't match Pod's node affinity/selector"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/nodename/node_name.go", "node(s) didn't match the requested node name"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/podtopologyspread/plugin.go", "node(s) didn't match pod topology spread constraints"},

	{"k8s.io/kubernetes", "pkg/kubelet/kubelet_pods.go", "couldn't find key %v in Secret %v/%v"},
	{"k8s.io/kubernetes", "pkg/kubelet/kubelet_pods.go", "failed to prepare subPath for volumeMount %q of container %q"},
	{"k8s.io/kubernetes", "pkg/kubelet/kuberuntime/security_context_others.go", "container has runAsNonRoot and image will run as root (pod: %q, container: %s)"},
	{"k8s.io/kubernetes", "pkg/kubelet/kuberuntime/security_context_others.go", "container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root (pod: %q, container: %s)"},
	{"k8s.io/kubernetes", "pkg/kubelet/kuberuntime/kuberuntime_manager.go", "attempting to set pod memory limit (%d) below current usage (%d)"},
	{"k8s.io/kubernetes", "pkg/volume/configmap/configmap.go", "configmap references non-existent config key: %s"},
	{"k8s.io/kubernetes", "pkg/volume/secret/secret.go", "references non-existent secret key: %s"},
	{"k8s.io/kubernetes", "pkg/probe/grpc/grpc.go", "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): %s"},
	{"k8s.io/kubernetes", "pkg/probe/grpc/grpc.go", "error: health rpc probe failed: %+v"},
	{"google.golang.org/grpc", "internal/transport/http2_client.go", "transport: Error while dialing: %v"},
	{"google.golang.org/grpc", "internal/transport/transport.go", "transport is closing"},

	{"github.com/opencontainers/runc", "start.go", "cannot start a container that has stopped"},
	{"github.com/opencontainers/runc", "libcontainer/process_linux.go", "container init was OOM-killed (memory limit too low?)"},
	{"github.com/opencontainers/runc", "libcontainer/init_linux.go", "chdir to cwd (%q) set in config.json failed: %w"},
	{"github.com/opencontainers/runc", "libcontainer/init_linux.go", "unable to apply caps: %w"},
	{"github.com/opencontainers/runc", "libcontainer/init_linux.go", "unable to apply bounding set: %w"},
	{"github.com/opencontainers/runc", "libcontainer/standard_init_linux.go", "unable to init seccomp: %w"},
	{"github.com/opencontainers/runc", "libcontainer/apparmor/apparmor_linux.go", "apparmor failed to apply profile: %w"},
	{"github.com/opencontainers/runc", "libcontainer/rootfs_linux.go", "error mounting %q to rootfs at %q: %w"},
	{"github.com/opencontainers/cgroups", "fs/memory.go", "unable to set memory limit to %d (current usage: %d, peak usage: %d)"},

	{"github.com/containerd/containerd/v2", "core/remotes/docker/resolver.go", "pull access denied, repository does not exist or may require authorization: %w"},
	{"github.com/containerd/containerd/v2", "core/remotes/docker/resolver.go", "failed to authorize: %w"},
	{"github.com/containerd/containerd/v2", "core/remotes/docker/authorizer.go", "failed to fetch anonymous token: %w"},
	{"github.com/containerd/containerd/v2", "core/remotes/docker/errdesc.go", "authentication required"},
	{"github.com/containerd/containerd/v2", "core/remotes/errors/errors.go", "unexpected status from %s request to %s: %s"},

	{"k8s.io/apiserver", "pkg/endpoints/handlers/responsewriters/errors.go", "User %q cannot %s resource %q in API group %q in the namespace %q"},
	{"k8s.io/apimachinery", "pkg/api/meta/errors.go", "no matches for kind %q in version %q"},
	{"k8s.io/client-go", "tools/leaderelection/leaderelection.go", "Failed to renew lease"},

	{"k8s.io/client-go", "rest/config.go", "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"},
	{"k8s.io/apimachinery", "pkg/api/errors/errors.go", "the server could not find the requested resource"},
	{"k8s.io/apiserver", "pkg/util/webhook/error.go", "failed calling webhook %q: %v"},

	{"std", "encoding/base64/base64.go", "illegal base64 data at input byte "},
	{"std", "crypto/tls/tls.go", "tls: failed to find any PEM data in certificate input"},
	{"std", "encoding/json/scanner.go", "looking for beginning of object key string"},
	{"std", "runtime/panic.go", "invalid memory address or nil pointer dereference"},
	{"std", "net/net.go", "no such host"},
	{"std", "net/dnsclient_unix.go", "server misbehaving"},
	{"std", "net/http/transport.go", "net/http: TLS handshake timeout"},
	{"std", "net/http/client.go", "http: server gave HTTP response to HTTPS client"},
	{"std", "net/http/client.go", "stopped after 10 redirects"},
	{"std", "net/http/response.go", "malformed HTTP response"},
	{"std", "net/http/response.go", "malformed HTTP status code"},
	{"std", "net/http/server.go", "Client sent an HTTP request to an HTTPS server."},
	{"std", "crypto/tls/conn.go", "first record does not look like a TLS handshake"},
	{"std", "crypto/x509/verify.go", "certificate has expired or is not yet valid"},
	{"std", "crypto/x509/verify.go", "x509: certificate signed by unknown authority"},
	{"std", "crypto/x509/verify.go", "x509: certificate is valid for %d names, but none matched %s"},
	{"std", "crypto/tls/tls.go", "tls: private key does not match public key"},
	{"std", "flag/flag.go", "flag provided but not defined: -%s"},
	{"std", "runtime/proc.go", `runtime: failed to create new OS thread`},
}

// verbOfFormat is a verb of a format.
var verbOfFormat = regexp.MustCompile(`%\\?[+]?[svdqw]`)

// fitting gives for each format, once it was found in the file, what fits it.
func fitting(t *testing.T) []*regexp.Regexp {
	t.Helper()
	dirs := map[string]string{"std": goEnv(t, "env", "GOROOT") + "/src"}
	var fits []*regexp.Regexp
	for _, f := range formats {
		if dirs[f.module] == "" {
			dirs[f.module] = goEnv(t, "list", "-m", "-f", "{{.Dir}}", f.module)
		}
		source, err := os.ReadFile(filepath.Join(dirs[f.module], f.file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(source), f.format) {
			t.Errorf("%s does not say %q in %s any more", f.module, f.format, f.file)
		}
		fits = append(fits, regexp.MustCompile(verbOfFormat.ReplaceAllString(regexp.QuoteMeta(f.format), `.*`)))
	}
	return fits
}

func goEnv(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// made are messages that the libraries make here, at the versions of go.mod.
func made(t *testing.T) []string {
	t.Helper()
	var all []string
	add := func(errs ...error) {
		for _, err := range errs {
			all = append(all, err.Error())
		}
	}
	add(
		apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-x", errors.New(`no RuntimeClass "x"`)),
		apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "tls"),
		apierrors.NewNotFound(schema.GroupResource{Resource: "persistentvolumeclaims"}, "data"),
		apierrors.NewNotFound(schema.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}, "fast"),
		status.Error(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused\""),
		status.Error(codes.DeadlineExceeded, "context deadline exceeded"),
		status.Error(codes.NotFound, "unknown service"),
		io.ErrUnexpectedEOF,
		exec.Command("nope-of-words").Run(), exec.Command("/nope").Run(), exec.Command("/").Run(), exec.Command("/etc/passwd").Run(),
		&net.OpError{Op: "dial", Net: "tcp", Err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}},
		&net.OpError{Op: "read", Net: "tcp", Err: &os.SyscallError{Syscall: "read", Err: syscall.ECONNRESET}},
		&net.DNSError{Err: "no such host", Name: "db", Server: "10.96.0.10:53", IsNotFound: true},
		os.ErrDeadlineExceeded,
		&net.OpError{Op: "remote error", Err: tls.AlertError(80)}, // RFC 8446, 6: internal_error
	)
	for _, errno := range []syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.EROFS, syscall.ENOENT, syscall.EADDRINUSE, syscall.EACCES, syscall.EPERM,
		syscall.EAGAIN, syscall.ENOMEM, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
		syscall.ENOEXEC, syscall.EISDIR, syscall.ENOTDIR, syscall.EAFNOSUPPORT, syscall.EADDRNOTAVAIL, syscall.ESTALE, syscall.ENOTCONN, syscall.EIO, syscall.E2BIG,
	} {
		add(&os.PathError{Op: "open", Path: "/x", Err: errno})
	}
	add(apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-x", errors.New("maximum memory usage per Container is 64Mi, but limit is 128Mi")))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = http.ReadRequest(bufio.NewReader(c))              // what comes before is no answer
			_, _ = io.WriteString(c, "\x15\x03\x01\x00\x02\x02\x46") // an alert of TLS
			c.Close()
		}
	}()
	_, err = http.Get("http://" + l.Addr().String())
	add(err)
	secure := httptest.NewUnstartedServer(http.RedirectHandler("/", http.StatusFound))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	_, err = http.Get(secure.URL)
	add(err)
	_, err = secure.Client().Get(secure.URL)
	add(err)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	_, err = http.Get("https" + strings.TrimPrefix(plain.URL, "http"))
	add(err)
	_, err = tls.Dial("tcp", plain.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	add(err)
	answer, err := http.Get("http" + strings.TrimPrefix(secure.URL, "https"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return append(all, string(body))
}

// recorded are the lines that programs said when testdata/said.sh ran them; said.txt has
// their versions.
func recorded(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/said.txt")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "# ")
	})
}

// Each entry is found in something that was really printed: by a library of go.mod, in the format of its source or made
// by it here, or by a program that was run. The others say from which file of its source they are remembered.
func TestEntriesAreReal(t *testing.T) {
	fits, texts := fitting(t), append(made(t), recorded(t)...)
	for _, e := range Embedded().Entries() {
		real := slices.ContainsFunc(texts, e.In)
		for _, s := range e.Samples {
			real = real || slices.ContainsFunc(fits, func(f *regexp.Regexp) bool { return e.In(f.FindString(s)) })
		}
		if real == (e.Seen.Memory != "") {
			t.Errorf("%s: real %v, from memory %q", e.at("seen"), real, e.Seen.Memory)
		}
	}
}
