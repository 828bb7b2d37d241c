package metricsapi

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// nodeTimeout bounds how long one node may take to answer. A node that does not
// is left out, so that one sick node does not blind `kubectl top` to the others.
const nodeTimeout = 5 * time.Second

// source fetches statistics from nodes. It is safe for concurrent use.
type source struct {
	client kubernetes.Interface
}

// summary asks one node for its statistics.
func (s *source) summary(ctx context.Context, node string) (*stats.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, nodeTimeout)
	defer cancel()
	raw, err := s.client.CoreV1().RESTClient().Get().
		Resource("nodes").Name(node).SubResource("proxy").Suffix("stats/summary").
		DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("statistics of node %s: %w", node, err)
	}
	summary := &stats.Summary{}
	if err := json.Unmarshal(raw, summary); err != nil {
		return nil, fmt.Errorf("statistics of node %s: %w", node, err)
	}
	return summary, nil
}

// summaries asks the nodes at once and returns the answers of those that gave one.
func (s *source) summaries(ctx context.Context, nodes []string) map[string]*stats.Summary {
	var (
		mu  sync.Mutex
		wg  sync.WaitGroup
		out = make(map[string]*stats.Summary, len(nodes))
	)
	for _, node := range nodes {
		wg.Go(func() {
			summary, err := s.summary(ctx, node)
			if err != nil {
				klog.FromContext(ctx).Error(err, "Left a node out of the metrics", "node", node)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out[node] = summary
		})
	}
	wg.Wait()
	return out
}

// podStats returns the statistics of the pods by UID, asking each node that one
// of the pods runs on.
func (s *source) podStats(ctx context.Context, pods []corev1.Pod) map[types.UID]stats.PodStats {
	var nodes []string
	seen := map[string]bool{"": true}
	for _, pod := range pods {
		if node := pod.Spec.NodeName; !seen[node] {
			seen[node] = true
			nodes = append(nodes, node)
		}
	}
	out := map[types.UID]stats.PodStats{}
	for _, summary := range s.summaries(ctx, nodes) {
		for _, pod := range summary.Pods {
			out[types.UID(pod.PodRef.UID)] = pod
		}
	}
	return out
}
