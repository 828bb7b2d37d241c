package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
)

// The test binary plays three parts beside the tests: containerd (as whylet
// does), an agent that can be killed, and the tests again in a network namespace
// of their own, so that their bridge and rules cannot meet anybody else's.
const (
	agentSubcommand = "test-agent"
	inNamespace     = "WHYLET_TEST_IN_NETNS"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Subcommand:
			os.Exit(Main(os.Args[2:], os.Stderr))
		case agentSubcommand:
			os.Exit(testAgent(os.Args[2]))
		}
	}
	if os.Geteuid() == 0 && os.Getenv(inNamespace) == "" {
		os.Exit(rerunInNamespace())
	}
	if os.Geteuid() == 0 {
		if err := loopbackUp(); err != nil {
			fmt.Fprintln(os.Stderr, "bringing lo up:", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func loopbackUp() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

func rerunInNamespace() int {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := cmd.Run(); err != nil {
		if exit, ok := err.(*exec.ExitError); ok {
			return exit.ExitCode()
		}
		fmt.Fprintln(os.Stderr, "a network namespace for the tests:", err)
		return 1
	}
	return 0
}

// testConfig is the configuration that tests and their agent agree on.
func testConfig(dataDir string) Config {
	libexec, err := filepath.Abs("../../bin/libexec")
	if err != nil {
		panic(err)
	}
	return Config{
		DataDir:    dataDir,
		Bridge:     "wtest0",
		PodCIDR:    netip.MustParsePrefix("10.87.0.0/24"),
		CgroupRoot: "/whylet-test-" + ID(dataDir),
		Libexec:    libexec,
		Log:        slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
}

// testAgent runs the runtime until SIGTERM, as the node agent does.
func testAgent(dataDir string) int {
	r, err := Start(context.Background(), testConfig(dataDir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready", r.PID())
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	if err := r.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
