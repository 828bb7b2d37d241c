package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// A control plane can be started once in a process, and is to be killed, so the
// tests run it in a process of its own: this test binary, told by childEnv.
const (
	childEnv   = "WHYLET_CLUSTER_TEST_CHILD"
	configEnv  = "WHYLET_CLUSTER_TEST_CONFIG"
	childServe = "serve"
	childPurge = "purge"
	childProbe = "probe"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case childServe:
		os.Exit(serveChild(childConfig()))
	case childPurge:
		os.Exit(report(Purge(context.Background(), childConfig())))
	case childProbe:
		os.Exit(report(probeFromPod(os.Args[1:])))
	}
}

func childConfig() Config {
	var c struct {
		DataDir, NodeName, NodeIP, Kubeconfig string
		APIPort                               int
	}
	if err := json.Unmarshal([]byte(os.Getenv(configEnv)), &c); err != nil {
		panic(err)
	}
	return Config{
		DataDir: c.DataDir, NodeName: c.NodeName, NodeIP: c.NodeIP, Kubeconfig: c.Kubeconfig, APIPort: c.APIPort,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
}

// serveChild starts a control plane, says on standard output when its API is
// ready and when DNS answers, and stops it in order at SIGTERM.
func serveChild(config Config) int {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	began := time.Now()
	c, err := Start(ctx, config)
	if err != nil {
		return report(err)
	}
	fmt.Println("ready", time.Since(began).Milliseconds())
	if err := c.WaitDNS(ctx); err != nil {
		return report(err)
	}
	fmt.Println("dns", time.Since(began).Milliseconds())
	ended := c.Wait()
	stopping, cancelStop := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancelStop()
	if err := c.Stop(stopping); err != nil {
		return report(err)
	}
	return report(ended)
}

// report prints an error for the parent to read, and returns the exit code.
func report(err error) int {
	if err == nil {
		return 0
	}
	fmt.Printf("error %s %v\n", class(err), err)
	return 1
}

func class(err error) string {
	var (
		inUse   *InUseError
		taken   *PortTakenError
		foreign *ForeignDataDirError
	)
	switch {
	case errors.As(err, &inUse):
		return "InUse"
	case errors.As(err, &taken):
		return "PortTaken"
	case errors.As(err, &foreign):
		return "Foreign"
	}
	return "other"
}
