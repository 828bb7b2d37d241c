package door

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	authn "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// One namespace cannot ask so much that others are not answered, nor all of them more than
// can be.
func TestQuestionsAtTheSameTimeAreBounded(t *testing.T) {
	q := &Questions{inFlight: map[types.UID]*flight{}, of: map[string]int{}}
	asked := func(namespace string, n int) (begun []*unstructured.Unstructured) {
		for i := range n {
			u := &unstructured.Unstructured{Object: map[string]any{}}
			u.SetNamespace(namespace)
			u.SetUID(types.UID(namespace + strconv.Itoa(i)))
			u.SetCreationTimestamp(metav1.Now())
			if q.begin(u) {
				begun = append(begun, u)
			}
		}
		return begun
	}
	greedy := asked("greedy", 100)
	if len(greedy) != mostOfOne || len(asked("modest", 1)) != 1 {
		t.Errorf("%d of one namespace, and then none of another", len(greedy))
	}
	all := len(greedy) + 1
	for i := range 20 {
		all += len(asked("n"+strconv.Itoa(i), mostOfOne))
	}
	if all != mostAtOnce {
		t.Errorf("%d at the same time", all)
	}
	for _, u := range greedy {
		q.end(u)
	}
	if n := len(asked("later", 1)); n != 1 {
		t.Error("nobody is answered any more")
	}
}

// Who asks by HTTPS while many do is told so at once, and costs the API server nothing.
func TestRequestsAtTheSameTimeAreBounded(t *testing.T) {
	h := &HTTPS{busy: make(chan struct{}, mostRequests)}
	served := h.known(func(http.ResponseWriter, *http.Request, authn.UserInfo) error { return nil })
	for range mostRequests {
		h.busy <- struct{}{}
	}
	w := httptest.NewRecorder()
	if served(w, httptest.NewRequest(http.MethodGet, "/why", nil)); w.Code != http.StatusTooManyRequests {
		t.Errorf("%d", w.Code)
	}
	<-h.busy
	w = httptest.NewRecorder()
	if served(w, httptest.NewRequest(http.MethodGet, "/why", nil)); w.Code != http.StatusUnauthorized { // without a token
		t.Errorf("%d", w.Code)
	}
}
