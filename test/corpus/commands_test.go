package corpus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/command"
	"whylet.dev/whylet/why/record"
)

// TestCommands takes every command of the answers apart as a shell and kubectl do, and looks
// whether what it is about is there.
func TestCommands(t *testing.T) {
	p := passOf(t)
	for _, fault := range p.commands {
		t.Error(fault)
	}
	if p.checked < 100 {
		t.Errorf("there are %d commands only", p.checked)
	}
}

// commandsOf are the commands of an answer, each once.
func commandsOf(a answer.Answer) map[string]bool {
	all := map[string]bool{}
	for _, v := range a.Verdicts {
		for _, s := range v.Fixes {
			all[s.Command] = true
		}
	}
	delete(all, "")
	return all
}

// placeholder is a word for people to fill in.
var placeholder = regexp.MustCompile(`\b(?:NAME|NAMESPACE|NODE|POD|PORT|IMAGE|REGISTRY|HOST|NUMBER|FILE|PATH|URL)\b(?:[^:=]|$)`)

// runs says what is wrong with a command.
func runs(c *record.Case, a answer.Answer, by scenarios.Sight, text string) error {
	var errs []error
	for _, words := range simpleCommands(text) {
		if blank := placeholder.FindString(strings.Join(words, " ")); blank != "" {
			errs = append(errs, fmt.Errorf("%s stands for something that nobody put in", blank))
		}
		if words[0] == "kubectl" {
			errs = append(errs, parses(c, a, by, words[1:]))
		}
	}
	return errors.Join(errs...)
}

// kubectlRoot is kubectl, whose flags one command line at a time sets: making it takes longer than reading a line.
var (
	kubectlRoot = sync.OnceValue(func() *cobra.Command {
		return kubectl.NewKubectlCommand(kubectl.KubectlOptions{IOStreams: genericiooptions.NewTestIOStreamsDiscard()})
	})
	parsing sync.Mutex
)

// parses has kubectl, or kubectl-why, read a command line without doing anything.
func parses(c *record.Case, a answer.Answer, by scenarios.Sight, words []string) error {
	if words[0] == "why" {
		return parsesWhy(c, by, words[1:])
	}
	parsing.Lock()
	defer parsing.Unlock()
	root := kubectlRoot()
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if cmd == root {
		return errors.New("kubectl has no such command")
	}
	defer cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			f.Changed = f.Value.Set(f.DefValue) != nil
		}
	})
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	namespace, err := cmd.Flags().GetString("namespace")
	if err != nil {
		return err
	}
	args := cmd.Flags().Args()
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		args = args[:at]
	}
	if all := cmd.Flags().Lookup("all-namespaces"); all != nil && all.Value.String() == "true" {
		return nil
	}
	if absent := cmd.Flags().Lookup("ignore-not-found"); absent != nil && absent.Value.String() == "true" {
		return nil
	}
	if namespace == "" {
		namespace = "default"
	}
	return about(c, a, cmd, namespace, args)
}

// parsesWhy reads a command line of kubectl why, and refuses what only a front or a node of
// Whylet's own can answer where nobody remembers.
func parsesWhy(c *record.Case, by scenarios.Sight, words []string) error {
	cmd := command.New(command.Env{Out: io.Discard, Err: io.Discard})
	if err := cmd.ParseFlags(words); err != nil {
		return err
	}
	for _, flag := range []string{"what-if", "suggest"} {
		if cmd.Flags().Changed(flag) && by == scenarios.ByAPI {
			return fmt.Errorf("--%s wants somebody who remembers", flag)
		}
	}
	targets, err := ask.ParseTargets(cmd.Flags().Args(), false)
	if err != nil {
		return err
	}
	namespace, _ := cmd.Flags().GetString("namespace")
	for _, one := range targets {
		if one.Kind == "pod" {
			continue // one that is gone is remembered
		}
		if !there(c, one.Kind, namespace, one.Name) {
			return fmt.Errorf("there is no %s in namespace %s", one, namespace)
		}
	}
	return nil
}

// about looks whether there is what a command of kubectl is about.
func about(c *record.Case, a answer.Answer, cmd *cobra.Command, namespace string, args []string) error {
	kind := ""
	switch cmd.Name() {
	case "logs", "exec":
		kind = "pod"
		args = args[:1]
	case "get", "describe", "edit", "patch", "scale", "top", "status", "history", "delete":
		if cmd.Name() == "top" || len(args) == 0 {
			return fmt.Errorf("of what? %v", args)
		}
	case "pod", "node":
		kind = cmd.Name()
	default:
		return nil
	}
	for i, arg := range args {
		if before, name, ok := strings.Cut(arg, "/"); ok {
			if err := exists(c, a, before, namespace, name); err != nil {
				return err
			}
			continue
		}
		if kind != "" {
			if err := exists(c, a, kind, namespace, arg); err != nil {
				return err
			}
			continue
		}
		if i == 0 {
			for one := range strings.SplitSeq(arg, ",") {
				if _, err := kindOf(one); err != nil {
					return err
				}
			}
			kind = arg
		}
	}
	return nil
}

func exists(c *record.Case, a answer.Answer, kind, namespace, name string) error {
	k, err := kindOf(kind)
	if err != nil {
		return err
	}
	if !there(c, k, namespace, name) {
		return fmt.Errorf("there is no %s %s in namespace %s", k, name, namespace)
	}
	return nil
}

// short are the names by which kubectl knows kinds beside their own.
var short = map[string]string{
	"po": "pod", "svc": "service", "deploy": "deployment", "rs": "replicaset", "sts": "statefulset", "ds": "daemonset", "cj": "cronjob", "cm": "configmap",
	"pvc": "persistentvolumeclaim", "pv": "persistentvolume", "sc": "storageclass", "no": "node", "ns": "namespace", "sa": "serviceaccount", "ev": "event", "quota": "resourcequota", "netpol": "networkpolicy",
}

func kindOf(name string) (string, error) {
	if long := short[name]; long != "" {
		return long, nil
	}
	for _, k := range record.Kinds {
		if kind := strings.ToLower(k.Kind); name == kind || name == k.Resource {
			return kind, nil
		}
	}
	return "", fmt.Errorf("kubectl knows no kind %s", name)
}

// there reports whether a case has an object. Of lists that were not recorded nobody knows.
func there(c *record.Case, kind, namespace, name string) bool {
	return slices.ContainsFunc(c.Objects, func(raw json.RawMessage) bool {
		var o struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
		}
		return json.Unmarshal(raw, &o) == nil && strings.EqualFold(o.Kind, kind) && o.Metadata.Name == name && (o.Metadata.Namespace == "" || o.Metadata.Namespace == namespace)
	})
}
