package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// RemovePods stops and removes the pods whose logs go below logDir from a CRI
// runtime that is not ours, and returns how many they were. Pods of others in
// the same runtime stay: what a sandbox was made with is in the verbose status,
// in containerd's as in CRI-O's, and that names the directory.
func RemovePods(ctx context.Context, endpoint, logDir string) (int, error) {
	conn, err := dial(endpoint)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	client := cri.NewRuntimeServiceClient(conn)
	list, err := client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return 0, fmt.Errorf("listing pods at %s: %w", endpoint, err)
	}
	removed := 0
	var errs []error
	for _, sandbox := range list.Items {
		ours, err := logsBelow(ctx, client, sandbox.Id, logDir)
		if err == nil && ours {
			err = removePod(ctx, client, sandbox.Id)
			removed++
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("pod %s/%s at %s: %w", sandbox.Metadata.GetNamespace(), sandbox.Metadata.GetName(), endpoint, err))
		}
	}
	return removed, errors.Join(errs...)
}

func logsBelow(ctx context.Context, client cri.RuntimeServiceClient, sandbox, logDir string) (bool, error) {
	status, err := client.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: sandbox, Verbose: true})
	if err != nil {
		return false, err
	}
	for _, info := range status.Info {
		if strings.Contains(info, `"`+strings.TrimSuffix(logDir, "/")+`/`) {
			return true, nil
		}
	}
	return false, nil
}

func removePod(ctx context.Context, client cri.RuntimeServiceClient, sandbox string) error {
	if _, err := client.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: sandbox}); err != nil {
		return err
	}
	_, err := client.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: sandbox})
	return err
}
