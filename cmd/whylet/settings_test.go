package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Whatever flag up or node has for its node is a setting, ends up in a field of its own,
// is merged, is kept in whylet.json, and holds for the next start.
func TestEveryFlagIsKept(t *testing.T) {
	notKept := []string{"data-dir", "detach", detachedFlag, "help"}
	none := func(string) bool { return false }
	unset := merge(settings{}, none, settings{})
	fields := map[int]bool{}
	for command, cmd := range map[string]*cobra.Command{"up": newUpCommand(streams{}), "node": newNodeCommand(streams{})} {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(notKept, f.Name) {
				return
			}
			i := slices.IndexFunc(table, func(x setting) bool {
				return x.flag == f.Name && (x.command == "" || x.command == command)
			})
			if i < 0 {
				t.Fatalf("--%s of whylet %s is no setting", f.Name, command)
			}
			var given settings
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			table[i].register(flags, &given, f.Usage)
			value := map[string]string{"string": "x", "bool": "true", "int": "7", "int64": "7"}[f.Value.Type()]
			if err := flags.Set(f.Name, value); err != nil {
				t.Fatal(err)
			}
			merged := merge(given, func(name string) bool { return name == f.Name }, settings{})
			changed := differences(unset, merged)
			if len(changed) != 1 {
				t.Fatalf("--%s changes %d fields of the settings", f.Name, len(changed))
			}
			fields[changed[0]] = true
			raw, err := json.Marshal(merged)
			if err != nil {
				t.Fatal(err)
			}
			var stored settings
			if err := json.Unmarshal(raw, &stored); err != nil {
				t.Fatal(err)
			}
			if again := merge(settings{}, none, stored); again != merged {
				t.Errorf("--%s: the next start has %+v, not %+v", f.Name, again, merged)
			}
		})
	}
	for i := range reflect.TypeFor[settings]().NumField() {
		if !fields[i] {
			t.Errorf("no flag sets %s", reflect.TypeFor[settings]().Field(i).Name)
		}
	}
}

// differences are the fields in which two settings differ.
func differences(a, b settings) (fields []int) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if !x.Field(i).Equal(y.Field(i)) {
			fields = append(fields, i)
		}
	}
	return fields
}

// All that is wrong is told at once, in the words of the flags.
func TestCheckTellsAll(t *testing.T) {
	s := merge(settings{
		NodeName: "A_b", PodCIDR: "10.0.0.1/8", NodeMemory: "lots", EvictionHard: "x", EvictionTransition: "soon", EvictionMaxPodGrace: -1,
		ShutdownGrace: "10s", ShutdownGraceCritical: "20s",
		SystemReserved: "pid=1", KubeReserved: "cpu", NodePIDs: -1, PodMaxPIDs: -1, OTLPEndpoint: "http://x:4317", OTLPHeaders: "nowhere", RuntimeEndpoint: "tcp://x",
		NodeAPIPort: 70000, ServingKey: "k",
	}, func(string) bool { return true }, settings{})
	_, err := s.check()
	if err == nil {
		t.Fatal("all is well")
	}
	for _, flag := range []string{
		"node-name", "pod-cidr", "node-memory", "eviction-hard", "eviction-pressure-transition-period", "eviction-max-pod-grace-period",
		"shutdown-grace-period", "system-reserved", "kube-reserved", "node-pids", "pod-max-pids", "otlp-headers", "runtime-endpoint", "node-api-port", "serving-cert",
	} {
		if !strings.Contains(err.Error(), "--"+flag) {
			t.Errorf("nothing is said of --%s in:\n%v", flag, err)
		}
	}
}

func TestShutdownSettings(t *testing.T) {
	for _, c := range []struct {
		of    settings
		want  string
		fails string
	}{
		{settings{}, "[]", ""},
		{settings{ShutdownGrace: "30s", ShutdownGraceCritical: "10s"}, "[{0 20s} {2000000000 10s}]", ""},
		{settings{ShutdownGraceByPriority: "1000=10s,0=1m"}, "[{0 1m0s} {1000 10s}]", ""},
		{settings{ShutdownGrace: "soon"}, "[]", "--shutdown-grace-period"},
		{settings{ShutdownGraceCritical: "10s"}, "[]", "--shutdown-grace-period"},
		{settings{ShutdownGraceByPriority: "x"}, "[]", "--shutdown-grace-period-by-pod-priority"},
		{settings{ShutdownGrace: "30s", ShutdownGraceByPriority: "0=1m"}, "[]", "takes the place of"},
	} {
		got, err := c.of.shutdown()
		if fmt.Sprint(got) != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%+v: %v, %v", c.of, got, err)
		}
	}
}

// Headers go nowhere without a collector: who gives them alone is told so, and not only once the
// node starts that their file is not there.
func TestHeadersWithoutCollector(t *testing.T) {
	s := merge(settings{OTLPHeaders: "nowhere"}, func(string) bool { return true }, settings{})
	_, err := s.check()
	if err == nil {
		t.Fatal("all is well")
	}
	for _, said := range []string{"--otlp-headers are for", "--otlp-endpoint names", "--otlp-headers= "} {
		if !strings.Contains(err.Error(), said) {
			t.Errorf("%q is not in: %v", said, err)
		}
	}
	if taken := merge(settings{}, func(f string) bool { return f == "otlp-headers" }, s); checkOTLP(&taken) != nil {
		t.Error("what it tells to do does not help:", checkOTLP(&taken))
	}
}

// What was told once holds until it is told otherwise.
func TestMerge(t *testing.T) {
	none := func(string) bool { return false }
	first := merge(settings{NodeName: "n1", PodCIDR: "10.9.0.0/16", APIPort: 7443}, func(f string) bool {
		return f == "node-name" || f == "pod-cidr" || f == "api-port"
	}, settings{})
	if first.NodeName != "n1" || first.PodCIDR != "10.9.0.0/16" || first.APIPort != 7443 {
		t.Errorf("first start: %+v", first)
	}
	if second := merge(settings{}, none, first); second != first {
		t.Errorf("second start: %+v, want %+v", second, first)
	}
	third := merge(settings{NodeMemory: "2Gi"}, func(f string) bool { return f == "node-memory" }, first)
	if third.NodeMemory != "2Gi" || third.NodeName != "n1" {
		t.Errorf("third start: %+v", third)
	}
	fresh := merge(settings{}, none, settings{})
	if fresh.PodCIDR != defaultPodCIDR || fresh.NodeName == "" {
		t.Errorf("defaults: %+v", fresh)
	}
}
