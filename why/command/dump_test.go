package command

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/clusterinfo"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/why/record"
)

// town is a cluster of which a dump is made, as of its own clock.
func town(t *testing.T) string {
	t.Helper()
	c := &record.Case{Manifest: record.Manifest{}, Logs: map[string][]byte{
		record.LogOf("shop", "web-1", "app", true):   []byte("2026-11-20T10:00:01.5Z FATAL: could not open configuration file \"/etc/web.conf\": Permission denied\n"),
		record.LogOf("shop", "web-1", "app", false):  []byte("2026-11-20T10:02:01.5Z FATAL: could not open configuration file \"/etc/web.conf\": Permission denied\n"),
		record.LogOf("shop", "client", "app", false): []byte(strings.Repeat("2026-11-20T10:02:56Z ERROR connect to web:80 failed: Connection refused\n", 2) + strings.Repeat("2026-11-20T10:02:58Z ERROR connect to web:80 failed: Connection refused\n", 3)),
	}}
	for _, object := range []string{
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system"}}`,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}}`,
		`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"n"},"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-11-20T10:03:00Z"}]}}`,
		`{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"shop","name":"web","uid":"s"},"spec":{"selector":{"app":"web"},"ports":[{"port":80}]}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web","uid":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"web"}}}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"web-1","uid":"p","labels":{"app":"web"},"creationTimestamp":"2026-11-20T09:00:00Z"},
			"spec":{"nodeName":"n","containers":[{"name":"app","image":"web:1","resources":{"limits":{"memory":"15Mi"}}}]},
			"status":{"phase":"Running","containerStatuses":[{"name":"app","restartCount":4,"image":"web:1","state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off"}},
			"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled","startedAt":"2026-11-20T10:02:01Z","finishedAt":"2026-11-20T10:02:02Z"}}}]}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"new-1","uid":"q","labels":{"app":"new"},"creationTimestamp":"2026-11-20T09:00:00Z"},
			"spec":{"nodeName":"n","containers":[{"name":"app","image":"new:1","env":[{"name":"X","valueFrom":{"configMapKeyRef":{"name":"conf","key":"x"}}}]}]},
			"status":{"phase":"Pending","containerStatuses":[{"name":"app","image":"new:1","state":{"waiting":{"reason":"ErrImagePull","message":"new:1: not found"}}}]}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"client","uid":"r","creationTimestamp":"2026-11-20T09:00:00Z"},
			"spec":{"nodeName":"n","containers":[{"name":"app","image":"client:1"}]},
			"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-11-20T09:00:05Z"}],
			"containerStatuses":[{"name":"app","ready":true,"started":true,"image":"client:1","state":{"running":{"startedAt":"2026-11-20T09:00:05Z"}}}]}}`,
		`{"apiVersion":"v1","kind":"Event","metadata":{"namespace":"shop","name":"e"},"involvedObject":{"kind":"Pod","namespace":"shop","name":"web-1","uid":"p"},"type":"Warning","reason":"BackOff",
			"message":"Back-off restarting failed container app in pod web-1_shop(p)","count":12,"firstTimestamp":"2026-11-20T09:10:00Z","lastTimestamp":"2026-11-20T10:02:30Z"}`,
	} {
		c.Objects = append(c.Objects, []byte(strings.ReplaceAll(object, "\n", "")))
	}
	file := filepath.Join(t.TempDir(), "town.record")
	if err := writeCase(file, c); err != nil {
		t.Fatal(err)
	}
	return file
}

// clusterInfo has the real kubectl dump a cluster.
func clusterInfo(t *testing.T, server string, args ...string) []byte {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(true)
	flags.APIServer = &server
	var out bytes.Buffer
	cmd := clusterinfo.NewCmdClusterInfoDump(flags, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: io.Discard})
	cmd.SetArgs(append([]string{"-A"}, args...))
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDump(t *testing.T) {
	live := town(t)
	server := listen(t, live)
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.record")
	if out, errs, code := run(t, "", "dump", "-s", server, "--to", whole); code != 0 || !strings.Contains(errs, "recorded all namespaces") {
		t.Fatal(out, errs, code)
	}
	dumps := map[string]string{"recorded": whole}
	for _, format := range []string{"json", "yaml"} {
		dumps["folder in "+format], dumps["stream in "+format] = filepath.Join(dir, format), filepath.Join(dir, format+".dump")
		clusterInfo(t, server, "-o", format, "--output-directory", dumps["folder in "+format])
		if err := os.WriteFile(dumps["stream in "+format], clusterInfo(t, server, "-o", format), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ago := map[string]string{"recorded": ""} // by the clock of this machine
	for name, at := range dumps {
		if name != "recorded" {
			ago[name] = "58 s ago"
		}
		t.Run(name, func(t *testing.T) {
			if out, _, _ := run(t, "", "--all", "--dump", at); strings.Contains(out, "shop/client") != (name != "recorded") {
				t.Errorf("a client that is Ready and is refused as of the dump alone:\n%s", out)
			}
			for _, c := range []struct {
				args      []string
				code      exit.Code
				out, errs string
			}{
				{[]string{"web-1"}, 0, "cause: container-memory-limit", ""},
				{[]string{"web-1"}, 0, "most recently " + ago[name], ""},
				{[]string{"pod/web-1", "-n", "shop"}, 0, "pod shop/web-1", ""},
				{[]string{"deploy/web"}, 0, "deployment shop/web", ""},
				{[]string{"svc/web"}, 0, "service shop/web", ""},
				{[]string{"--all"}, 0, "shop/web-1", ""},
				{[]string{"-l", "app=web"}, 0, "pod shop/web-1", ""},
				{[]string{"new-1"}, 0, "new:1: not found", ""},
				{[]string{"nothing"}, 1, "", "pod default/nothing"},
			} {
				out, errs, code := run(t, "", append(c.args, "--dump", at)...)
				if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) {
					t.Errorf("%v: %d\n%s\n%s", c.args, code, out, errs)
				}
			}
		})
	}
	for _, c := range []struct {
		args []string
		code exit.Code
		errs string
	}{
		{[]string{"web-1", "--dump", filepath.Join(dir, "away")}, 1, "no such file"},
		{[]string{"web-1", "--dump", dir, "--file", whole}, 2, "exclude each other"},
		{[]string{"web-1", "--dump", whole, "-w"}, 2, "a dump does not change"},
		{[]string{"dump", "-s", server}, 2, "--to"},
		{[]string{"dump", "-s", server, "-n", "shop", "--to", whole + ".2"}, 2, "kubectl why record -n"},
		{[]string{"record", "-A", "-s", server, "-n", "shop", "--to", whole + ".2"}, 2, "kubectl why record -n"},
		{[]string{"dump", "shop", "--to", "x"}, 2, "takes no names"},
	} {
		if out, errs, code := run(t, "", c.args...); code != c.code || !strings.Contains(errs, c.errs) {
			t.Errorf("%v: %d\n%s\n%s", c.args, code, out, errs)
		}
	}
}

// What kubectl get printed may be part of a list: an object that is not in it may exist.
func TestPartialDump(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"svc.yaml":   "{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: db, uid: s}, spec: {selector: {app: db}, ports: [{port: 5432}]}}",
		"claim.yaml": "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: shop, name: data-a, uid: a}, status: {phase: Bound}}",
		"pod.yaml": "{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: store, uid: p, creationTimestamp: '2026-11-20T09:00:00Z'}," +
			" spec: {containers: [{name: app, image: 'store:1'}], volumes: [{name: data, persistentVolumeClaim: {claimName: data-b}}]}," +
			" status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: '0/1 nodes are available: persistentvolumeclaim \"data-b\" not found.', lastTransitionTime: '2026-11-20T09:00:00Z'}]}}",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("---\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, errs, code := run(t, "", "svc/db", "--dump", dir)
	if code != 1 || !strings.Contains(errs, "service shop/db selects none of the pods in the dump") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if out, errs, code = run(t, "", "pod/store", "--dump", dir); strings.Contains(out, "data-a") || !strings.Contains(out, "data-b") {
		t.Errorf("%d %s %s", code, out, errs)
	}
}
