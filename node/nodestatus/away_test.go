package nodestatus

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/node/object"
)

// A node whose runtime is away when it starts says so, and why, and that it is there.
func TestRuntimeAwayAtStart(t *testing.T) {
	dir := t.TempDir()
	facts, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer facts.Close()
	ctx, cancel := context.WithCancel(t.Context())
	client := fake.NewClientset()
	reporter := Away(ctx, Config{
		Config: object.Config{
			Name: "here", IP: "192.0.2.1", Reserve: object.Reserve{MaxPods: 10}, Client: client, Log: slog.New(slog.DiscardHandler),
		},
		DataDir: dir, Journal: facts,
	}, func() error { return errors.New("no such socket") })
	ended := make(chan struct{})
	go func() { defer close(ended); reporter.Run(ctx) }()
	defer func() { cancel(); <-ended }()

	said := func() bool {
		node, err := client.CoreV1().Nodes().Get(ctx, "here", metav1.GetOptions{})
		if err != nil {
			return false
		}
		for _, c := range node.Status.Conditions {
			if c.Type == v1.NodeReady && c.Status == v1.ConditionFalse && strings.Contains(c.Message, "container runtime is down: no such socket") {
				_, err := client.CoordinationV1().Leases("kube-node-lease").Get(ctx, "here", metav1.GetOptions{})
				return err == nil
			}
		}
		return false
	}
	deadline := time.Now().Add(2 * time.Minute)
	for !said() {
		if time.Now().After(deadline) {
			t.Fatal("it says nothing")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
