package cluster

import (
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestPortTakenNamesPortOwnerAndFix(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c := valid("/d").withDefaults()
	c.APIPort = taken.Addr().(*net.TCPAddr).Port

	_, err = listenAPI(t.Context(), c)
	var got *PortTakenError
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want a PortTakenError", err)
	}
	if got.Address != taken.Addr().String() || got.PID != os.Getpid() || got.Command == "" {
		t.Errorf("got %+v, want address %s and this process", got, taken.Addr())
	}
	for _, want := range []string{taken.Addr().String(), "process", "--api-port"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %q", err, want)
		}
	}
}

func TestListensForPeopleAndForPods(t *testing.T) {
	for _, tc := range []struct {
		api  string
		want []string
	}{
		{"127.0.0.1", []string{"127.0.0.1", "127.0.0.2"}},
		{"0.0.0.0", []string{"::"}}, // how a dual-stack socket names every address
		{"127.0.0.2", []string{"127.0.0.2"}},
	} {
		c := valid("/d").withDefaults()
		// Any address of this machine does for the pods' side.
		c.APIAddress, c.HostAddress, c.APIPort = tc.api, "127.0.0.2", freePort(t)
		listener, err := listenAPI(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		var got []string
		for _, address := range listener.(interface{ Addrs() []net.Addr }).Addrs() {
			got = append(got, address.(*net.TCPAddr).AddrPort().Addr().Unmap().String())
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("for %s it listens on %v, want %v", tc.api, got, tc.want)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func TestFailedChecks(t *testing.T) {
	body := "[+]ping ok\n[-]etcd failed: reason withheld\n[-]informer-sync failed: reason withheld\nreadyz check failed\n"
	if got := failedChecks([]byte(body)); got != "etcd, informer-sync" {
		t.Errorf("got %q", got)
	}
	if got := failedChecks([]byte("ok")); got != "" {
		t.Errorf("got %q", got)
	}
}
