package mesh

import (
	"encoding/json"
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// FuzzInject takes pods as a webhook gets them: any JSON that decodes. Nothing
// may panic, exec probes stay as they are, and a second time changes nothing.
func FuzzInject(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"spec":{"containers":[{"name":"a","livenessProbe":{"httpGet":{"port":"web"}},"ports":[{"name":"web","containerPort":80}]}]}}`,
		`{"spec":{"restartPolicy":"Never","containers":[{"name":"a","readinessProbe":{"tcpSocket":{"port":80}},"startupProbe":{"exec":{"command":["a"]}}}]}}`,
		`{"spec":{"initContainers":[{"name":"s","restartPolicy":"Always","livenessProbe":{"grpc":{"port":1}}}],"containers":[{"name":"b"},{"name":"b"}]}}`,
		`{"metadata":{"annotations":{"mesh.whylet.dev/original-probes":"null","mesh.whylet.dev/form":"osm-edge"}},"spec":{"containers":[{"name":"whylet-mesh"}]}}`,
		`{"metadata":{"annotations":{"mesh.whylet.dev/original-probes":"{\"a\":null}","mesh.whylet.dev/form":"x"}},"spec":{"containers":[{"name":"a","livenessProbe":{}}]}}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, osm bool) {
		var pod v1.Pod
		if json.Unmarshal(data, &pod) != nil {
			t.Skip()
		}
		in := Injection{Form: Default, Image: "whylet", CAURL: "https://ca"}
		if osm {
			in.Form = OSMEdge
		}
		before := pod.DeepCopy()
		out, err := Inject(&pod, in)
		if !reflect.DeepEqual(&pod, before) {
			t.Fatal("the given pod was changed")
		}
		_ = Check(&pod)
		if err != nil {
			return
		}
		_ = Check(out)
		for _, c := range containers(before) {
			for _, kind := range Kinds {
				p, ok := Original(out, c.Name, kind)
				_ = p.String()
				if had := probeOf(c, kind); had != nil && !ok {
					t.Fatalf("the %s probe of %q is lost", kind, c.Name)
				}
			}
		}
		checkExec(t, before, out)
		again, err := Inject(out, in)
		if err != nil {
			t.Fatalf("injecting again: %v", err)
		}
		if !reflect.DeepEqual(again, out) {
			t.Fatal("injecting again changed the pod")
		}
	})
}

// checkExec compares the exec probes of the pod's own containers, in order.
func checkExec(t *testing.T, before, after *v1.Pod) {
	t.Helper()
	all := func(pod *v1.Pod) (found []string) {
		for _, c := range containers(pod) {
			for _, kind := range Kinds {
				if p := probeOf(c, kind); p != nil && p.Exec != nil {
					data, err := json.Marshal(p)
					if err != nil {
						t.Fatal(err)
					}
					found = append(found, c.Name+string(data))
				}
			}
		}
		return found
	}
	if b, a := all(before), all(after); !reflect.DeepEqual(a, b) {
		t.Fatalf("exec probes changed from %s to %s", b, a)
	}
}
