package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestUpstreams(t *testing.T) {
	c := valid("/d").withDefaults()
	for _, tc := range []struct {
		name, conf string
		want       []string
	}{
		{"one", "nameserver 192.0.2.53\n", []string{"192.0.2.53"}},
		{"two and a search list", "search a.b\nnameserver 192.0.2.53\nnameserver 2001:db8::53\n", []string{"192.0.2.53", "2001:db8::53"}},
		{"systemd's stub, which this machine may ask", "nameserver 127.0.0.53\n", []string{"127.0.0.53"}},
		{"ourselves, which would be a loop", "nameserver 10.43.0.10\nnameserver 198.19.254.53\n", nil},
		{"link-local with a zone", "nameserver fe80::1%eth0\n", nil},
		{"none", "# empty\n", nil},
		{"garbage", "nameserver\nnameserver x\n\x00", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "resolv.conf")
			if err := os.WriteFile(file, []byte(tc.conf), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := upstreams(c, file); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	if got := upstreams(c, "/nonexistent"); got != nil {
		t.Errorf("without the file: %v", got)
	}
}

func FuzzUpstreams(f *testing.F) {
	f.Add("nameserver 192.0.2.53\noptions ndots:5\n")
	c := valid("/d").withDefaults()
	f.Fuzz(func(t *testing.T, conf string) {
		file := filepath.Join(t.TempDir(), "resolv.conf")
		if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, server := range upstreams(c, file) {
			if strings.ContainsAny(server, " {}\n%") {
				t.Errorf("%q would break the Corefile", server)
			}
		}
	})
}

func TestCorefileForwardsOnlyWithUpstreams(t *testing.T) {
	c := valid("/d").withDefaults()
	with := string(dnsInput(c, c.paths(), []string{"192.0.2.53", "192.0.2.54"}).Body())
	if !strings.Contains(with, "forward . 192.0.2.53 192.0.2.54 {") {
		t.Errorf("no forwarding in\n%s", with)
	}
	if without := string(dnsInput(c, c.paths(), nil).Body()); strings.Contains(without, "forward") {
		t.Errorf("forwarding to nobody in\n%s", without)
	}
}
