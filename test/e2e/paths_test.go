package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// What monitoring asks a kubelet for is there, by kubelet's names, and for those
// alone who may.
func TestKubeletsPaths(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(server)
	s.waitReady("server")
	name := strings.TrimSpace(s.mustKubectl("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"))
	path := func(p string) string { return "/api/v1/nodes/" + name + "/proxy" + p }

	var config struct {
		Kubeletconfig struct {
			MaxPods      int               `json:"maxPods"`
			EvictionHard map[string]string `json:"evictionHard"`
			CgroupDriver string            `json:"cgroupDriver"`
		} `json:"kubeletconfig"`
	}
	if err := json.Unmarshal([]byte(s.mustKubectl("get", "--raw", path("/configz"))), &config); err != nil {
		t.Fatal(err)
	}
	if k := config.Kubeletconfig; k.MaxPods != 250 || k.EvictionHard["memory.available"] != "100Mi" || len(k.EvictionHard) != 1 || k.CgroupDriver != "cgroupfs" {
		t.Errorf("/configz says %+v", k)
	}

	of := fmt.Sprintf(`namespace="%s",pod="server"`, s.name)
	s.eventually(time.Minute, "probes are counted", func() error {
		return lines(s.mustKubectl("get", "--raw", path("/metrics/probes")),
			[]string{"prober_probe_total{", `container="nginx"`, fmt.Sprintf(`namespace="%s"`, s.name), `probe_type="Readiness",result="successful"`},
			[]string{"prober_probe_duration_seconds_bucket{", `container="nginx"`, `probe_type="Liveness"`})
	})
	s.eventually(time.Minute, "containers are measured", func() error {
		return lines(s.mustKubectl("get", "--raw", path("/metrics/cadvisor")),
			[]string{"container_cpu_usage_seconds_total{", `container="nginx",cpu="total",id="/kubepods/`, `image="docker.io/library/nginx:1"`, of},
			[]string{"container_memory_working_set_bytes{", `container="nginx"`, of},
			[]string{"container_memory_working_set_bytes{", `container=""`, of},
			[]string{"container_network_receive_bytes_total{", `interface="eth0"`, of})
	})

	// Nobody else than who may use the node's subresources.
	for p, resource := range map[string]string{"/configz": "configz", "/metrics/cadvisor": "metrics"} {
		url := fmt.Sprintf("https://%s:10250%s", s.mustKubectl("get", "node", name, "-o", "jsonpath={.status.addresses[0].address}"), p)
		s.mustKubectl("create", "serviceaccount", resource)
		token := strings.TrimSpace(s.mustKubectl("create", "token", resource))
		ask := func() string {
			out, err := shared.command(t.Context(), "curl", "-sS", "-k", "--max-time", "10", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Authorization: Bearer "+token, url).CombinedOutput()
			if err != nil {
				return fmt.Sprintf("%v: %s", err, out)
			}
			return string(out)
		}
		if got := ask(); got != "403" {
			t.Errorf("%s without a role: %s", p, got)
		}
		role := s.name + "-" + resource
		s.mustKubectl("create", "clusterrole", role, "--verb=get", "--resource=nodes/"+resource)
		s.mustKubectl("create", "clusterrolebinding", role, "--clusterrole="+role, "--serviceaccount="+s.name+":"+resource)
		t.Cleanup(func() {
			for _, kind := range []string{"clusterrole", "clusterrolebinding"} {
				_, _ = s.kubectlIn(context.Background(), "", "delete", kind, role, "--wait=false")
			}
		})
		// The node keeps a refusal for half a minute.
		s.eventually(2*time.Minute, p+" with the role nodes/"+resource, func() error {
			if got := ask(); got != "200" {
				return fmt.Errorf("the answer is %s", got)
			}
			return nil
		})
	}
}

// lines looks for lines that have all parts of one of the wanted.
func lines(text string, wanted ...[]string) error {
	for _, parts := range wanted {
		found := false
		for line := range strings.Lines(text) {
			all := true
			for _, part := range parts {
				all = all && strings.Contains(line, part)
			}
			found = found || all
		}
		if !found {
			return fmt.Errorf("no line with %q", parts)
		}
	}
	return nil
}
