package cluster

import (
	"errors"
	"net"
	"os"
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

func TestFailedChecks(t *testing.T) {
	body := "[+]ping ok\n[-]etcd failed: reason withheld\n[-]informer-sync failed: reason withheld\nreadyz check failed\n"
	if got := failedChecks([]byte(body)); got != "etcd, informer-sync" {
		t.Errorf("got %q", got)
	}
	if got := failedChecks([]byte("ok")); got != "" {
		t.Errorf("got %q", got)
	}
}
