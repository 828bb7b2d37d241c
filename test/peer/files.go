package peer

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"
)

// pauseName is the name of the real stack's sandbox image.
const pauseName = "peer.local/pause:1"

// writeFiles writes the configuration of the real stack's programs.
func (r *real) writeFiles(context.Context) error {
	var err error
	if r.runtime, err = r.bin.Runtime.configure(r); err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return err
	}
	token := hex.EncodeToString(secret)
	pemKey := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	files := map[string]string{
		"sa.key":               string(pemKey),
		"tokens.csv":           token + ",admin,admin,\"system:masters\"\n",
		"kubeconfig":           fmt.Sprintf(kubeconfig, nodeAddress, "token: "+token),
		"cni/10-peer.conflist": fmt.Sprintf(network, r.Dir, r.place.pods),
		"kubelet.yaml":         fmt.Sprintf(kubeletConfig, r.Dir, r.root) + strings.Join(r.settings, "\n"),
	}
	for file, content := range files {
		path := filepath.Join(r.Dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return r.writeCertificates()
}

const kubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: peer, cluster: {server: "https://%s:6443", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {%s}}]
contexts: [{name: peer, context: {cluster: peer, user: admin}}]
current-context: peer
`

const network = `{"cniVersion": "1.0.0", "name": "peer", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "ipam": {"type": "host-local",
   "dataDir": "%s/own/cni-addresses", "ranges": [[{"subnet": "%s"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}
]}
`

// kubeletConfig differs from the defaults where this machine needs it, and where
// neighbours must not be met. Eviction is bounded as Whylet bounds it in tests.
const kubeletConfig = `
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /%[2]s
containerRuntimeEndpoint: unix://%[1]s/runtime.sock
podLogsDir: %[1]s/pod-logs
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
clusterDNS: [10.97.0.10]
clusterDomain: cluster.local
failSwapOn: false
maxPods: 250
evictionHard: {memory.available: "100Mi"}
`

// Smaller makes a kubelet's node as large as whylet up --node-memory does: it keeps
// back what the machine has beyond so many bytes.
func Smaller(memory int64) (string, error) {
	var machine unix.Sysinfo_t
	if err := unix.Sysinfo(&machine); err != nil {
		return "", err
	}
	total := int64(machine.Totalram) * int64(machine.Unit)
	if memory >= total {
		return "", fmt.Errorf("the machine has only %d bytes of memory", total)
	}
	return fmt.Sprintf("systemReserved: {memory: \"%d\"}\n", total-memory), nil
}

// writePauseImage writes an image that holds nothing but the pause program.
func writePauseImage(program, file string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	var layerTar bytes.Buffer
	w := tar.NewWriter(&layerTar)
	if err := w.WriteHeader(&tar.Header{Name: "pause", Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	if _, err := w.Write(content); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layerTar.Bytes())), nil
	})
	if err != nil {
		return err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	tag, err := name.NewTag(pauseName)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(file, tag, image)
}
