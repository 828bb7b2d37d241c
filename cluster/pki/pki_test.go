package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

var testHosts = Hosts{
	NodeName: "n1",
	NodeIPs:  []net.IP{net.IPv4(127, 0, 0, 1)},
	APINames: []string{"localhost", "kubernetes.default.svc"},
	APIIPs:   []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP("10.43.0.1")},
}

func ensureSet(t *testing.T, dir string, hosts Hosts, now time.Time) *Set {
	t.Helper()
	set, err := Ensure(dir, hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestEnsureMakesEverythingOnce(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "pki"), time.Now()
	first := ensureSet(t, dir, testHosts, now)
	if len(first.Renewed) != 10 {
		t.Errorf("first call made %d certificates, want 10: %v", len(first.Renewed), first.Renewed)
	}
	before := contents(t, dir)
	if again := ensureSet(t, dir, testHosts, now.Add(time.Hour)); len(again.Renewed) != 0 {
		t.Errorf("second call renewed %v, want nothing", again.Renewed)
	}
	for name, data := range contents(t, dir) {
		if before[name] != data {
			t.Errorf("%s changed on the second call", name)
		}
	}
}

func TestOnlyPublicFilesAreReadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	ensureSet(t, dir, testHosts, time.Now())
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("directory has mode %v, want 0700", info.Mode().Perm())
	}
	keys, _ := filepath.Glob(filepath.Join(dir, "*.key"))
	if len(keys) != 13 {
		t.Errorf("found %d keys, want 13 (ten certificates, two authorities, token signing)", len(keys))
	}
	for _, key := range keys {
		if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v; want 0600", key, info.Mode().Perm(), err)
		}
	}
}

func TestRenewal(t *testing.T) {
	now := time.Now()
	moved := testHosts
	moved.APIIPs = append([]net.IP{net.ParseIP("192.0.2.9")}, testHosts.APIIPs...)
	renamed := testHosts
	renamed.NodeName = "n2"
	for _, tc := range []struct {
		name  string
		hosts Hosts
		at    time.Time
		spoil func(t *testing.T, dir string)
		want  []string
	}{
		{name: "just before it is due", hosts: testHosts, at: now.Add(LeafLife - RenewBefore - time.Minute)},
		{name: "when it is due", hosts: testHosts, at: now.Add(LeafLife - RenewBefore + time.Minute), want: allNames},
		{name: "clock set back half an hour", hosts: testHosts, at: now.Add(-30 * time.Minute)},
		{name: "the API moved", hosts: moved, at: now, want: []string{"apiserver"}},
		{name: "another node", hosts: renamed, at: now, want: []string{"node", "node-serving"}},
		{name: "a key is gone", hosts: testHosts, at: now, want: []string{"scheduler"}, spoil: remove("scheduler.key")},
		{name: "a certificate is garbage", hosts: testHosts, at: now, want: []string{"admin"}, spoil: overwrite("admin.crt", "x")},
		{name: "killed between key and certificate", hosts: testHosts, at: now, want: []string{"coredns"}, spoil: newKeyFor("coredns.key")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			ca := ensureSet(t, dir, testHosts, now).CA.Cert()
			if tc.spoil != nil {
				tc.spoil(t, dir)
			}
			set := ensureSet(t, dir, tc.hosts, tc.at)
			if !sameSet(set.Renewed, tc.want) {
				t.Errorf("renewed %v, want %v", set.Renewed, tc.want)
			}
			if !set.CA.Cert().Equal(ca) {
				t.Error("the authority changed")
			}
		})
	}
}

var allNames = []string{
	"apiserver", "apiserver-kubelet-client", "front-proxy-client", "admin", "controller-manager",
	"scheduler", "kube-proxy", "coredns", "node", "node-serving",
}

func TestAuthority(t *testing.T) {
	t.Run("a certificate without its key is refused", func(t *testing.T) {
		dir := t.TempDir()
		ensureSet(t, dir, testHosts, time.Now())
		remove("ca.key")(t, dir)
		if _, err := Ensure(dir, testHosts, time.Now()); err == nil {
			t.Fatal("a new authority was made silently")
		}
	})
	t.Run("a key of another authority is refused", func(t *testing.T) {
		dir := t.TempDir()
		ensureSet(t, dir, testHosts, time.Now())
		newKeyFor("ca.key")(t, dir)
		if _, err := Ensure(dir, testHosts, time.Now()); err == nil {
			t.Fatal("a foreign key was accepted")
		}
	})
	t.Run("a key without its certificate keeps what it signed valid", func(t *testing.T) {
		dir := t.TempDir()
		ensureSet(t, dir, testHosts, time.Now())
		remove("ca.crt")(t, dir)
		if set := ensureSet(t, dir, testHosts, time.Now()); len(set.Renewed) != 0 {
			t.Errorf("renewed %v, want nothing", set.Renewed)
		}
	})
	t.Run("one authority does not vouch for the other's certificates", func(t *testing.T) {
		set := ensureSet(t, t.TempDir(), testHosts, time.Now())
		front := readCert(t, set.FrontProxy.CertFile)
		if signedBy(front, set.CA) || !signedBy(front, set.FrontProxyCA) {
			t.Error("the front proxy's certificate must come from its own authority only")
		}
	})
}

// TestCertificatesWork has a server and a client speak TLS with the set.
func TestCertificatesWork(t *testing.T) {
	set := ensureSet(t, t.TempDir(), testHosts, time.Now())
	pool, err := cert.NewPool(set.CA.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		_, _ = io.WriteString(w, subject.CommonName+" "+subject.Organization[0])
	}))
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{keyPair(t, set.APIServer)},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: pool,
	}
	server.StartTLS()
	defer server.Close()
	get := func(p Pair) (string, error) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: pool, Certificates: []tls.Certificate{keyPair(t, p)},
		}}}
		defer client.CloseIdleConnections()
		answer, err := client.Get(server.URL)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return string(body), err
	}
	for _, tc := range []struct {
		pair Pair
		want string
	}{
		{set.Admin, "whylet-admin system:masters"},
		{set.Node, "system:node:n1 system:nodes"},
	} {
		if got, err := get(tc.pair); err != nil || got != tc.want {
			t.Errorf("got %q, %v; want %q", got, err, tc.want)
		}
	}
	if got, err := get(set.FrontProxy); err == nil {
		t.Errorf("the front proxy's certificate was accepted as a client's: %q", got)
	}
}

// TestAnySpoiltLeafIsReplaced draws sets of files to damage, and expects a set
// that works and an unchanged authority, whatever was damaged.
func TestAnySpoiltLeafIsReplaced(t *testing.T) {
	whole := t.TempDir()
	ensureSet(t, whole, testHosts, time.Now())
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			rt.Fatal(err)
		}
		spoilt := map[string]bool{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(allNames), rapid.ID).Draw(rt, "names") {
			file := name + rapid.SampledFrom([]string{".crt", ".key"}).Draw(rt, "part")
			overwrite(file, rapid.SampledFrom([]string{"", "x", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"}).Draw(rt, "data"))(t, dir)
			spoilt[name] = true
		}
		set := ensureSet(t, dir, testHosts, time.Now())
		for _, name := range set.Renewed {
			if !spoilt[name] {
				rt.Fatalf("%s was renewed without need", name)
			}
		}
		if len(set.Renewed) != len(spoilt) {
			rt.Fatalf("renewed %v, want %v", set.Renewed, spoilt)
		}
	})
}

func TestComponentKubeconfig(t *testing.T) {
	set := ensureSet(t, t.TempDir(), testHosts, time.Now())
	file := filepath.Join(t.TempDir(), "deep", "scheduler.conf")
	if err := WriteKubeconfig(file, "https://127.0.0.1:6443", set.CA, "scheduler", set.Scheduler); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:6443" || config.CertFile != set.Scheduler.CertFile || config.CAFile != set.CA.CertFile {
		t.Errorf("kubeconfig leads to %s with %s and %s", config.Host, config.CertFile, config.CAFile)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode().Perm(), err)
	}
}

func TestMergedKubeconfigLeavesOthersAlone(t *testing.T) {
	set := ensureSet(t, t.TempDir(), testHosts, time.Now())
	file := filepath.Join(t.TempDir(), "config")
	const theirs = `apiVersion: v1
kind: Config
clusters: [{name: prod, cluster: {server: "https://prod.example"}}]
users: [{name: prod, user: {token: secret}}]
contexts: [{name: prod, context: {cluster: prod, user: prod}}]
current-context: prod
`
	if err := os.WriteFile(file, []byte(theirs), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // merging again must change nothing
		if err := MergeKubeconfig(file, "whylet", "https://127.0.0.1:6443", set.CA, set.Admin); err != nil {
			t.Fatal(err)
		}
	}
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if config.CurrentContext != "prod" || config.AuthInfos["prod"].Token != "secret" || len(config.Contexts) != 2 {
		t.Errorf("the file's own entries changed: %+v", config)
	}
	if err := UnmergeKubeconfig(file, "whylet"); err != nil {
		t.Fatal(err)
	}
	if config, err = clientcmd.LoadFromFile(file); err != nil || len(config.Contexts) != 1 || config.CurrentContext != "prod" {
		t.Errorf("after taking ours out: %+v, %v", config, err)
	}
}

func TestMergedKubeconfigOfOurOwn(t *testing.T) {
	set := ensureSet(t, t.TempDir(), testHosts, time.Now())
	file := filepath.Join(t.TempDir(), "config")
	if err := MergeKubeconfig(file, "whylet", "https://127.0.0.1:6443", set.CA, set.Admin); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	if len(config.CAData) == 0 || len(config.KeyData) == 0 {
		t.Error("the administrator's kubeconfig must stand by itself")
	}
	if err := UnmergeKubeconfig(file, "whylet"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty kubeconfig was left behind: %v", err)
	}
	if err := UnmergeKubeconfig(file, "whylet"); err != nil {
		t.Errorf("an absent file is no error: %v", err)
	}
}

func TestUnreadableKubeconfigIsNotOverwritten(t *testing.T) {
	set := ensureSet(t, t.TempDir(), testHosts, time.Now())
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("{{{ not yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MergeKubeconfig(file, "whylet", "https://127.0.0.1:6443", set.CA, set.Admin); err == nil {
		t.Error("a file that cannot be read was replaced")
	}
}

func keyPair(t *testing.T, p Pair) tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(p.CertFile, p.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func readCert(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	certs, err := cert.CertsFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return certs[0]
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[entry.Name()] = string(data)
	}
	return out
}

func remove(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func overwrite(name, data string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func newKeyFor(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		_, pem, err := newKey()
		if err != nil {
			t.Fatal(err)
		}
		overwrite(name, string(pem))(t, dir)
	}
}
