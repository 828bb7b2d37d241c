package door

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/question"
)

// A front holds little of a question, whatever its asker put into it: a thousand with 250,000 bytes of annotations each are what
// an API server without admission policies takes.
func TestQuestionsHoldLittle(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const asked, most = 1000, 8 << 10 // bytes each
	before := heap()
	var held []any
	for i := range asked {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": question.Group + "/" + question.Version, "kind": question.Kind, "spec": map[string]any{"name": "web-1"}}}
		u.SetNamespace("shop")
		u.SetName(fmt.Sprint("q", i))
		u.SetUID(types.UID(fmt.Sprint(i)))
		u.SetCreationTimestamp(metav1.Now())
		u.SetAnnotations(map[string]string{"ballast": strings.Repeat(fmt.Sprint(i%10), 250_000)})
		kept, err := slim(u)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, kept)
	}
	after := heap()
	t.Logf("%d questions of 250,000 bytes hold %d KiB", asked, (int64(after)-int64(before))>>10)
	if after > before+asked*most {
		t.Errorf("%d questions hold %d KiB", len(held), (after-before)>>10)
	}
	runtime.KeepAlive(held)
}
