package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"

	// Kubeconfigs name auth plugins; they register themselves.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

// kubectlArgs says whether the program is kubectl for once, as the link bin/kubectl
// or as whylet kubectl, and what kubectl's own arguments are, its name included.
func kubectlArgs(args []string) ([]string, bool) {
	switch {
	case len(args) > 0 && filepath.Base(args[0]) == "kubectl":
		return args, true
	case len(args) > 1 && args[1] == "kubectl":
		return append([]string{"kubectl"}, args[2:]...), true
	}
	return nil, false
}

// kubectl is the unmodified client of the same Kubernetes version, and ends the
// process. Its parts read os.Args themselves, so this must be the whole program.
// Plugins are looked for beside it too, so that kubectl why works without a PATH.
func kubectl(args []string) {
	os.Args = args
	if self, err := os.Executable(); err == nil {
		os.Setenv("PATH", os.Getenv("PATH")+string(os.PathListSeparator)+filepath.Dir(self))
	}
	logs.GlogSetter(cmd.GetLogVerbosity(os.Args)) //nolint:errcheck // kubectl does so too
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
	os.Exit(0)
}

// preferOwnCluster makes whylet kubectl talk to this machine's node, where the
// user chose no cluster: neither by KUBECONFIG nor by a file in the home directory.
func preferOwnCluster() {
	own := filepath.Join(defaultDataDir, "kubeconfig", "admin.conf")
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" {
		return
	}
	if _, err := os.Stat(clientcmd.RecommendedHomeFile); err == nil {
		return
	}
	if _, err := os.Stat(own); err == nil {
		os.Setenv(clientcmd.RecommendedConfigPathEnvVar, own)
	}
}

// newKubectlCommand only tells of whylet kubectl in the help: main has taken
// those arguments before.
func newKubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl [kubectl's commands and flags]",
		Short:              "Run the kubectl of the node's Kubernetes version",
		Example:            "  whylet kubectl get pods -A\n  ln -s $(command -v whylet) /usr/local/bin/kubectl   # the same by its own name",
		DisableFlagParsing: true,
		Run:                func(*cobra.Command, []string) {},
	}
}
