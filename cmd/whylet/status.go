package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"whylet.dev/whylet/cluster/runtime"
	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/paint"
)

// statusTimeout is how long the API server and the runtime may take to answer.
const statusTimeout = 5 * time.Second

// nodeStatus is what whylet status prints.
type nodeStatus struct {
	DataDir string `json:"dataDir"`
	Node    string `json:"node,omitempty"`
	Running bool   `json:"running"`
	PID     int    `json:"pid,omitempty"`
	// Since is when the running process started.
	Since *time.Time `json:"since,omitempty"`
	// Doing is what the process does or waits for; empty: it just runs.
	Doing string `json:"doing,omitempty"`
	// Ready is the node's Ready condition at the API server: True, False or
	// Unknown; empty when the API server did not say.
	Ready   string `json:"ready,omitempty"`
	Message string `json:"message,omitempty"`
	// Runtime is "containerd 2.3.7" or what the endpoint says; empty: no answer.
	Runtime    string   `json:"runtime,omitempty"`
	Endpoint   string   `json:"runtimeEndpoint,omitempty"`
	API        string   `json:"api,omitempty"`
	Kubeconfig string   `json:"kubeconfig,omitempty"`
	NodeIP     string   `json:"nodeIP,omitempty"`
	Degraded   []string `json:"degraded,omitempty"`
	// Unknown says what could not be asked, and why.
	Unknown []string `json:"unknown,omitempty"`
}

func newStatusCommand(s streams) *cobra.Command {
	var dataDir, output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether the node runs and is Ready",
		Long: `Show whether the node runs and is Ready, and where its parts are.

Exit code 0 when it runs and is Ready, 3 otherwise.`,
		Example: `  whylet status
  whylet status -o json | jq -r .kubeconfig`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			abs, err := absDataDir(dataDir)
			if err != nil {
				return err
			}
			st, err := inspectNode(cmd.Context(), abs)
			if err != nil {
				return err
			}
			if output != "" {
				err = encode(s.out, output, st)
			} else {
				printStatus(s, st)
			}
			if err == nil && (!st.Running || st.Ready != string(corev1.ConditionTrue)) {
				// The text says it already.
				return exit.Silent(exit.NotRunning)
			}
			return err
		},
	}
	addDataDirFlag(cmd, &dataDir)
	addOutputFlag(cmd, &output)
	return cmd
}

// inspectNode asks everything that can be asked about the node in dataDir.
func inspectNode(ctx context.Context, dataDir string) (nodeStatus, error) {
	st := nodeStatus{DataDir: dataDir}
	i, err := readInstance(dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err != nil {
		return st, err
	}
	st.Node, st.Running = i.Settings.NodeName, i.running()
	st.Endpoint, st.Kubeconfig, st.NodeIP, st.Degraded = i.Endpoint, i.Kubeconfig, i.NodeIP, i.Degraded
	if !st.Running {
		return st, nil
	}
	st.PID, st.Since, st.Doing = i.PID, &i.StartedAt, doingOf(i.PID)
	st.Degraded = i.withNotes(dataDir).Degraded
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	if name, err := runtime.Version(ctx, i.Endpoint); err != nil {
		st.Unknown = append(st.Unknown, "runtime: "+err.Error())
	} else {
		st.Runtime = name
	}
	if err := st.askAPI(ctx); err != nil {
		st.Unknown = append(st.Unknown, "node: "+err.Error())
	}
	return st, nil
}

// askAPI reads the node's condition at its API server.
func (st *nodeStatus) askAPI(ctx context.Context) error {
	if st.Kubeconfig == "" {
		return errors.New("the address of its API server is not known yet")
	}
	config, err := clientcmd.BuildConfigFromFlags("", st.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading %s: %w", st.Kubeconfig, err)
	}
	st.API = config.Host
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("a client for %s: %w", config.Host, err)
	}
	n, err := client.CoreV1().Nodes().Get(ctx, st.Node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("asking %s: %w", config.Host, err)
	}
	ready := readyCondition(n)
	st.Ready, st.Message = string(ready.Status), ready.Message
	return nil
}

func printStatus(s streams, st nodeStatus) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(s.out, "%-11s %s\n", name, value)
		}
	}
	if st.Node == "" {
		row("node", "none was started yet in "+st.DataDir)
		return
	}
	row("node", st.Node)
	state := paint.Text(s.out, paint.Red, "stopped")
	if st.Running {
		state = fmt.Sprintf("running as process %d for %s", st.PID, time.Since(*st.Since).Round(time.Second))
	}
	row("state", state)
	row("doing", st.Doing)
	ready := st.Ready
	switch {
	case ready == string(corev1.ConditionTrue):
		ready = paint.Text(s.out, paint.Green, ready)
	case ready != "":
		ready = paint.Text(s.out, paint.Red, ready) + ": " + st.Message
	}
	row("ready", ready)
	row("API", st.API)
	row("kubeconfig", st.Kubeconfig)
	row("node IP", st.NodeIP)
	runtimeText := st.Endpoint
	if st.Runtime != "" {
		runtimeText = st.Runtime + " at " + st.Endpoint
	}
	row("runtime", runtimeText)
	row("data", st.DataDir)
	for _, d := range st.Degraded {
		row("degraded", paint.Text(s.out, paint.Yellow, d))
	}
	for _, u := range st.Unknown {
		row("unknown", u)
	}
}
