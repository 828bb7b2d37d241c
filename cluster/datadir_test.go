package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T, c Config) error {
	t.Helper()
	lock, err := openDataDir(c)
	if err == nil {
		err = lock.Close()
	}
	return err
}

func TestDataDirIsOursFromTheFirstStart(t *testing.T) {
	c := valid(filepath.Join(t.TempDir(), "new")).withDefaults()
	for range 2 {
		if err := open(t, c); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(c.paths().etcd)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("etcd's directory has mode %v, %v; want 0700", info.Mode().Perm(), err)
	}
}

func TestForeignDataDirIsRefused(t *testing.T) {
	write := func(name, data string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tc := range []struct {
		name string
		put  func(*testing.T, string)
		want string
	}{
		{"somebody's etcd", write("etcd/member/snap/db", "x"), "choose another --data-dir"},
		{"somebody's certificates", write("pki/ca.crt", "x"), "choose another --data-dir"},
		{"somebody's cluster.json", write("cluster.json", `{"kind":"other"}`), "not Whylet's"},
		{"garbage in cluster.json", write("cluster.json", `{`), "not Whylet's"},
		{"a later format", write("cluster.json", `{"kind":"whylet control plane","format":2}`), "format 2"},
		{"a later Kubernetes", write("cluster.json", `{"kind":"whylet control plane","format":1,"kubernetes":"v1.99.0"}`), "use a newer Whylet"},
		{"another service range", write("cluster.json", `{"kind":"whylet control plane","format":1,"kubernetes":"v1.36.0","serviceCIDR":"10.96.0.0/12"}`), "--service-cidr 10.96.0.0/12"},
		{"another domain", write("cluster.json", `{"kind":"whylet control plane","format":1,"kubernetes":"v1.36.0","serviceCIDR":"10.43.0.0/16","clusterDomain":"a.b"}`), "a.b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := valid(t.TempDir()).withDefaults()
			tc.put(t, c.DataDir)
			err := open(t, c)
			var foreign *ForeignDataDirError
			if !errors.As(err, &foreign) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want a ForeignDataDirError that says %q", err, tc.want)
			}
		})
	}
}

func TestOtherFilesInTheDataDirAreFine(t *testing.T) {
	c := valid(t.TempDir()).withDefaults()
	if err := os.MkdirAll(filepath.Join(c.DataDir, "journal"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := open(t, c); err != nil {
		t.Error(err)
	}
}

func TestDataDirHasOneUser(t *testing.T) {
	c := valid(t.TempDir()).withDefaults()
	lock, err := openDataDir(c)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	var inUse *InUseError
	if err := open(t, c); !errors.As(err, &inUse) || inUse.PID != os.Getpid() {
		t.Errorf("got %v, want an InUseError with our pid", err)
	}
}

func TestKubernetesVersionIsTheLinkedOne(t *testing.T) {
	if got := kubernetesVersion(); !strings.HasPrefix(got, "v1.") {
		t.Errorf("Kubernetes calls itself %q; kubectl and Helm need a version of the form v1.N.N", got)
	}
	if gitMajor != "1" || gitMinor == "" {
		t.Errorf("major and minor are %q and %q", gitMajor, gitMinor)
	}
}
