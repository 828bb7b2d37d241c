package cluster

import (
	"context"
	"fmt"

	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// runScheduler runs kube-scheduler until ctx ends.
func runScheduler(ctx context.Context, p paths) error {
	opts := options.NewOptions()
	flags := append([]string{"--kubeconfig=" + p.kubeconfig("scheduler")}, clientFlags...)
	if err := parseFlags("kube-scheduler", *opts.Flags, flags); err != nil {
		return err
	}
	config, scheduler, err := app.Setup(ctx, opts)
	if err != nil {
		return fmt.Errorf("configure scheduler: %w", err)
	}
	return app.Run(ctx, config, scheduler)
}
