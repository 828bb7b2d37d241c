package main

import (
	"encoding/json"
	"fmt"
	"io"
	goruntime "runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/exit"
)

// Set by the Makefile: Whylet's own version, from git describe, and that of runc,
// which is a program of its own.
var (
	version     = "devel"
	runcVersion = ""
)

// versions is what whylet version prints.
type versions struct {
	Whylet     string `json:"whylet"`
	Kubernetes string `json:"kubernetes,omitempty"`
	Etcd       string `json:"etcd,omitempty"`
	CoreDNS    string `json:"coredns,omitempty"`
	Containerd string `json:"containerd,omitempty"`
	Runc       string `json:"runc,omitempty"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
}

// builtVersions reads the versions of what was linked in from the binary itself.
func builtVersions() versions {
	v := versions{Whylet: version, Runc: runcVersion, Go: goruntime.Version(), Platform: goruntime.GOOS + "/" + goruntime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	fields := map[string]*string{
		"k8s.io/kubernetes":                   &v.Kubernetes,
		"go.etcd.io/etcd/server/v3":           &v.Etcd,
		"github.com/coredns/coredns":          &v.CoreDNS,
		"github.com/containerd/containerd/v2": &v.Containerd,
	}
	for _, dep := range info.Deps {
		if field := fields[dep.Path]; field != nil {
			*field = dep.Version
		}
	}
	return v
}

func newVersionCommand(s streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of Whylet and of what is in it",
		Example: `  whylet version
  whylet version -o json | jq -r .kubernetes`,
		Args: positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			v := builtVersions()
			if output != "" {
				return encode(s.out, output, v)
			}
			rows := [][2]string{
				{"Whylet", v.Whylet},
				{"Kubernetes", v.Kubernetes},
				{"etcd", v.Etcd},
				{"CoreDNS", v.CoreDNS},
				{"containerd", v.Containerd},
				{"runc", v.Runc},
				{"Go", v.Go + " " + v.Platform},
			}
			for _, row := range rows {
				if row[1] != "" {
					fmt.Fprintf(s.out, "%-11s %s\n", row[0], row[1])
				}
			}
			return nil
		},
	}
	addOutputFlag(cmd, &output)
	return cmd
}

func addOutputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "", "json or yaml instead of text")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
}

// encode writes value as json or yaml.
func encode(w io.Writer, format string, value any) error {
	var out []byte
	var err error
	switch format {
	case "json":
		out, err = json.MarshalIndent(value, "", "  ")
		out = append(out, '\n')
	case "yaml":
		out, err = yaml.Marshal(value)
	default:
		return exit.UsageError("-o %s is not known; json and yaml are", format)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", format, err)
	}
	_, err = w.Write(out)
	return err
}
