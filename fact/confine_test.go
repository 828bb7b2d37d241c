package fact

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// fillPods puts a pod of another namespace wherever a value can name one.
func fillPods(v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[Pod]() {
		v.Set(reflect.ValueOf(Pod{Namespace: "secret", Name: "secret-1", UID: "u"}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if strings.HasPrefix(v.Type().PkgPath(), "whylet.dev/") && v.Field(i).CanSet() && depth < 6 {
				fillPods(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fillPods(v.Index(0), depth+1)
		}
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.Struct {
			v.Set(reflect.New(v.Type().Elem()))
			fillPods(v.Elem(), depth+1)
		}
	}
}

// No kind of fact names a pod of another namespace once it is confined; a field that is
// added later and does fails this.
func TestConfinedNamesNobodyElse(t *testing.T) {
	for kind, of := range bodies {
		if kind == (Act{}).Kind() {
			continue
		}
		v := reflect.New(of).Elem()
		fillPods(v, 0)
		body := v.Interface().(Body)
		f := Fact{ID: 7, Pod: Pod{Namespace: "secret", Name: "secret-1", UID: "u"}, Container: "c", Body: body}
		before := fmt.Sprintf("%+v", f)
		all := []Fact{Confined(f, "shop")}
		if d, ok := body.(Decided); ok {
			all = append(all, Confined(Fact{Body: Act{By: "kubelet", Body: d}}, "shop"))
		}
		for _, c := range all {
			text, err := json.Marshal(c.Body)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			if strings.Contains(string(text), "secret") || strings.Contains(c.Pod.String(), "secret") || c.Container != "" {
				t.Errorf("%s still says %s of %s", kind, text, c.Pod)
			}
		}
		if fmt.Sprintf("%+v", f) != before {
			t.Errorf("%s was changed", kind)
		}
	}
	own := Fact{Pod: Pod{Namespace: "shop", Name: "web", UID: "w"}, Container: "app", Body: Evict{Ranking: []Ranked{{Pod: Pod{Namespace: "shop", Name: "web"}}}}}
	if got := Confined(own, "shop"); got.Pod != own.Pod || got.Container != "app" || got.Body.(Evict).Ranking[0].Pod.Name != "web" {
		t.Errorf("what is its own went: %+v", got)
	}
}
