package observe

import (
	"time"

	"whylet.dev/whylet/sense/containers"
)

// podLogs is where kubelet keeps the logs of all pods, unless it is told otherwise
// (pkg/kubelet/apis/config, podLogsDir), as the machine's first process sees it.
const podLogs = machine + "/var/log/pods"

// logs is the folder of all pods' logs.
func (a *Agent) logs() string {
	if a.runtime != nil && a.runtime.Logs() != "" {
		return a.runtime.Root + a.runtime.Logs()
	}
	return podLogs
}

// lastSaid are those that say most of the last lines of a log, and when each was said.
func lastSaid(path string) ([]string, []time.Time) {
	return containers.LastSaid(containers.ContainerView{LogPath: path})
}
