package cluster

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// TestTakenProcess checks what a process does differently once a control plane
// was started in it. It can be taken once, so this is one test.
func TestTakenProcess(t *testing.T) {
	var log bytes.Buffer
	asked := make(chan error, 1)
	logger := slog.New(slog.NewTextHandler(&log, nil))
	if err := takeProcess(io.Discard, logger, func(err error) { asked <- err }); err != nil {
		t.Fatal(err)
	}
	if err := takeProcess(io.Discard, logger, nil); !errors.Is(err, errStarted) {
		t.Errorf("a second start gives %v", err)
	}

	func() {
		defer utilruntime.HandleCrash()
		panic("a controller's mistake")
	}()
	if !strings.Contains(log.String(), "a controller's mistake") || !strings.Contains(log.String(), "global_test.go") {
		t.Errorf("the panic was not reported with its origin: %s", log.String())
	}

	go klog.FlushAndExit(klog.ExitFlushTimeout, 3)
	if err := <-asked; err == nil || !strings.Contains(err.Error(), "exit code 3") {
		t.Errorf("a component that exits gives %v", err)
	}
}
