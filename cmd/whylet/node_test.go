package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"whylet.dev/whylet/node/credentials"
)

// The copy of a kubeconfig has what is in use, and the renewed certificate's file.
func TestCopyKubeconfig(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to", "node.conf")
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://192.0.2.1:6443", CertificateAuthority: filepath.Join(dir, "ca.crt")}
	config.AuthInfos["n"] = &clientcmdapi.AuthInfo{ClientCertificateData: []byte("cert"), ClientKeyData: []byte("key")}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: "secret"}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "n"}
	config.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*config, from); err != nil {
		t.Fatal(err)
	}
	client := filepath.Join(dir, "client.pem")
	for file, content := range map[string]string{filepath.Join(dir, "ca.crt"): "authority", client: "renewed"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyKubeconfig(from, to, client); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "secret") {
		t.Error("another user's token was copied")
	}
	got, err := clientcmd.BuildConfigFromFlags("", to)
	if err != nil {
		t.Fatal(err)
	}
	if got.Host != "https://192.0.2.1:6443" || string(got.CAData) != "authority" || got.CertFile != client || got.KeyFile != client || len(got.CertData)+len(got.KeyData) > 0 {
		t.Errorf("it says %s", raw)
	}
}

// The node says that it serves a certificate of its own while it does.
func TestServingNote(t *testing.T) {
	dir := t.TempDir()
	i := instance{Command: "node", Settings: settings{NodeName: "edge"}}
	if got := i.servingNote(dir); got != "" {
		t.Errorf("before there is a certificate: %q", got)
	}
	if err := os.MkdirAll(pkiDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := credentials.Serving(credentials.Config{NodeName: "edge", Dir: pkiDir(dir), Log: slog.New(slog.DiscardHandler)}, "192.0.2.7"); err != nil {
		t.Fatal(err)
	}
	if got := i.servingNote(dir); !strings.Contains(got, "kubectl certificate approve") {
		t.Errorf("with its own certificate: %q", got)
	}
	i.Settings.ServingCert = "/etc/mine.crt"
	if got := i.servingNote(dir); got != "" {
		t.Errorf("with the user's certificate: %q", got)
	}
}
