package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubelet/pkg/types"
)

// RemovePods stops and removes the pods whose logs go below logDir from a CRI
// runtime that is not ours, and returns how many they were. Pods of others in
// the same runtime stay.
func RemovePods(ctx context.Context, endpoint, logDir string) (int, error) {
	conn, err := dial(endpoint)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	client := cri.NewRuntimeServiceClient(conn)
	removed := 0
	err = eachPod(ctx, client, endpoint, logDir, func(sandbox *cri.PodSandbox, ours bool) error {
		if !ours {
			return nil
		}
		removed++
		return removePod(ctx, client, sandbox.Id)
	})
	return removed, err
}

// OthersPods names the pods of another Kubernetes node in a CRI runtime, as
// namespace/name: those whose logs do not go below logDir. A second node would take
// them for its own that were deleted. The error is ErrNoAnswer when nothing listens
// at endpoint.
func OthersPods(ctx context.Context, endpoint, logDir string) ([]string, error) {
	conn, err := dial(endpoint)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := reach(ctx, conn, endpoint); err != nil {
		return nil, err
	}
	var others []string
	err = eachPod(ctx, cri.NewRuntimeServiceClient(conn), endpoint, logDir, func(sandbox *cri.PodSandbox, ours bool) error {
		if !ours && sandbox.Labels[types.KubernetesPodUIDLabel] != "" {
			others = append(others, sandbox.Metadata.GetNamespace()+"/"+sandbox.Metadata.GetName())
		}
		return nil
	})
	return others, err
}

// eachPod shows every sandbox of a runtime, and whether its logs go below logDir:
// what a sandbox was made with is in the verbose status, in containerd's as in
// CRI-O's, and that names the directory. It goes on after an error and returns all.
func eachPod(ctx context.Context, client cri.RuntimeServiceClient, endpoint, logDir string, show func(*cri.PodSandbox, bool) error) error {
	list, err := client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return fmt.Errorf("listing pods at %s: %w", endpoint, err)
	}
	var errs []error
	for _, sandbox := range list.Items {
		ours, err := logsBelow(ctx, client, sandbox.Id, logDir)
		if status.Code(err) == codes.NotFound {
			continue // gone meanwhile
		}
		if err == nil {
			err = show(sandbox, ours)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("pod %s/%s at %s: %w", sandbox.Metadata.GetNamespace(), sandbox.Metadata.GetName(), endpoint, err))
		}
	}
	return errors.Join(errs...)
}

func logsBelow(ctx context.Context, client cri.RuntimeServiceClient, sandbox, logDir string) (bool, error) {
	s, err := client.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: sandbox, Verbose: true})
	if err != nil {
		return false, err
	}
	for _, info := range s.Info {
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
