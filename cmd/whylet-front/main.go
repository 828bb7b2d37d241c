// Command whylet-front is what a cluster asks instead of its nodes: agents
// (whylet-observe agent --front) keep streams to it.
//
// It is a binary of its own, and no command of whylet-observe, because that one is on
// every node and stays small: the archive's databases are a third of this one.
//
//	main.go   flags
//	serve.go  everything that runs
//	tls.go    the certificate: issued here and renewed, or read again when it changes
//	peers.go  the other replicas
//	nodes.go  who vouches for nodes of Whylet's own
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"whylet.dev/whylet/front/door"
)

// version is set by the build.
var version = "unreleased"

func main() {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // what matters comes back as an error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends at once what does not stop
	if err := newRoot(os.Stdout, os.Stderr).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	archive, archiveFile, knowledge                                string
	archiveInsecure                                                bool
	archiveBytes                                                   int64
	archiveAge                                                     time.Duration
	listen, kubeconfig, agents, cert, key, account, peers, webhook string
	names                                                          []string
	lifetime                                                       time.Duration
	verbose                                                        bool
}

func newRoot(out, log io.Writer) *cobra.Command {
	var s settings
	root := &cobra.Command{
		Use:           "whylet-front",
		Short:         "Answer for a whole cluster why its pods are as they are",
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		Long: `Answer for a whole cluster why its pods are as they are.

Agents on the nodes (whylet-observe agent --front) keep streams to it and tell it how
their pods stand. It answers questions that are written down in the cluster (kubectl why
does that) as far as the asker may see the namespace. It changes nothing but answers.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, _, ok := strings.Cut(s.account, "/"); !ok {
				return errors.New("--agent-account is NAMESPACE/NAME")
			}
			level := slog.LevelInfo
			if s.verbose {
				level = slog.LevelDebug
			}
			return serve(cmd.Context(), s, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level})))
		},
	}
	f := root.Flags()
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig (default: the pod's service account)")
	f.StringVar(&s.agents, "agents", ":9443", "where agents connect, by gRPC over TLS")
	f.StringVar(&s.listen, "listen", ":8443", "where it is asked by HTTPS; empty: nowhere")
	f.StringVar(&s.archive, "archive", "", "where closing answers are kept: a file (SQLite), or postgres://…?sslmode=verify-full (default: with the agents only)")
	f.StringVar(&s.archiveFile, "archive-file", "", "a file that holds the same, so that no password stands in the arguments; read again for each connection")
	f.StringVar(&s.knowledge, "knowledge", "", "a directory with entries of your own, *.yaml: what your programs' messages mean")
	f.BoolVar(&s.archiveInsecure, "archive-insecure", false, "take a PostgreSQL server without sslmode=verify-full: whoever is between can read its password and all answers")
	f.Int64Var(&s.archiveBytes, "archive-bytes", 4<<30, "the oldest closing answers go beyond so many bytes")
	f.DurationVar(&s.archiveAge, "archive-age", 28*24*time.Hour, "closing answers older than this go")
	f.StringVar(&s.cert, "tls-cert", "/etc/whylet/front/tls.crt", "certificate, read again when it changes; of an authority, with --tls-names")
	f.StringVar(&s.key, "tls-key", "/etc/whylet/front/tls.key", "its key")
	f.StringSliceVar(&s.names, "tls-names", nil, "where --tls-cert is an authority's: the names for which a certificate is issued by it, and renewed (default: --tls-cert is served itself)")
	f.DurationVar(&s.lifetime, "tls-lifetime", 90*24*time.Hour, "how long such a certificate is good; it is renewed when two thirds of that are over")
	f.StringVar(&s.account, "agent-account", "whylet/whylet-agent", "NAMESPACE/NAME of the agents' service account")
	f.StringVar(&s.peers, "peers", "", "name that has the addresses of all replicas, as a headless Service does; needs $POD_IP (default: it is alone)")
	f.StringVar(&s.webhook, "webhook-key", "/etc/whylet/webhook/key", "file with the key by which the API server's webhook for deletions is known; where there is none, there is no such webhook")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "log more")
	root.MarkFlagsMutuallyExclusive("archive", "archive-file")
	root.AddCommand(&cobra.Command{
		Use:   "manifests",
		Short: "Print what a cluster has to know so that a front can be asked: kinds and roles",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := out.Write(door.Manifests)
			return err
		},
	})
	return root
}
