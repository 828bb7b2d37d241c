package record

import (
	"encoding/json"
	"testing"
)

func TestSound(t *testing.T) {
	for text, want := range map[string]bool{
		`{"metadata":{"name":"web-1.17c","namespace":"shop","labels":{"commit":"123e45678"},"annotations":{"a":"$(id)"}}}`:                         true,
		`{"metadata":{"name":"system:node"},"spec":{"containers":[{"name":"app","env":[{"name":"_JAVA","value":"$(A) 1e400"}],"args":["; id"]}]}}`: true,
		`{"involvedObject":{"kind":"Pod","namespace":"","name":"x","fieldPath":"spec.containers{app}"}}`:                                           true,
		`{"metadata":{"name":"web;id"}}`:                                                            false,
		`{"metadata":{"name":"-A"}}`:                                                                false,
		`{"metadata":{"name":"x","namespace":"$(id)"}}`:                                             false,
		`{"metadata":{"ownerReferences":[{"kind":"a b","name":"x"}]}}`:                              false,
		`{"spec":{"nodeName":"n\nid"}}`:                                                             false,
		`{"spec":{"template":{"spec":{"initContainers":[{"name":"` + "`id`" + `"}]}}}}`:             false,
		`{"spec":{"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"a|b"}}]}}`:           false,
		`{"spec":{"volumes":[{"name":"v","configMap":{"name":"a>b"}}]}}`:                            false,
		`{"spec":{"selector":{"app":"x;id"}}}`:                                                      false,
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e-2147483647"}}}]}}`:                false,
		`{"spec":{"containers":[{"resources":{"limits":{"labels":{"x":1},"cpu":1e-2147483647}}}]}}`: false,
		`{"status":{"capacity":{"cpu":" 1E+99999 "}}}`:                                              false,
		`[`: false,
	} {
		if err := Sound(json.RawMessage(text)); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestUnsoundIsLeftOut(t *testing.T) {
	c := small()
	c.Objects = append(c.Objects, json.RawMessage(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a;id"}}`), json.RawMessage(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","labels":{"version":1.0}}}`))
	got := reread(t, c)
	if len(got.Objects) != 1 || len(got.Missing) != 3 {
		t.Errorf("objects %s, missing %q", got.Objects, got.Missing)
	}
	if _, err := got.Client(false); err != nil {
		t.Error(err)
	}
}

func FuzzSound(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"x","labels":{"a":"1e5"}},"a":[1e9,"x"]}`))
	f.Fuzz(func(_ *testing.T, raw []byte) { _ = Sound(raw) })
}
