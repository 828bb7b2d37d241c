package webhook

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admission "k8s.io/api/admission/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"whylet.dev/whylet/mesh"
)

func handlerFor(in mesh.Injection) http.Handler {
	mux := http.NewServeMux()
	(&Admit{Injection: func() mesh.Injection { return in }, Log: slog.New(slog.DiscardHandler)}).Register(mux)
	return mux
}

var injection = mesh.Injection{Form: mesh.Default, Image: "whylet", CAURL: "https://ca.example", CABundle: "PEM"}

// admit has a pod reviewed, and applies the patch to the JSON it was given.
func admit(t testing.TB, h http.Handler, path, pod string) (patched string, response *admission.AdmissionResponse) {
	t.Helper()
	response = reviewed(t, h, path, pod)
	if response.Patch == nil {
		return pod, response
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	if err != nil {
		t.Fatal(err)
	}
	out, err := patch.Apply([]byte(pod))
	if err != nil {
		t.Fatalf("the patch does not apply: %v\n%s", err, response.Patch)
	}
	return string(out), response
}

func reviewed(t testing.TB, h http.Handler, path, pod string) *admission.AdmissionResponse {
	t.Helper()
	review := admission.AdmissionReview{Request: &admission.AdmissionRequest{
		UID: "1", Operation: admission.Create, Namespace: "ns", Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
	}}
	review.Request.Object.Raw = []byte(pod)
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body)))
	var answer admission.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Response == nil {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if answer.Response.UID != "1" || !answer.Response.Allowed || answer.Kind != "AdmissionReview" || answer.APIVersion != "admission.k8s.io/v1" {
		t.Fatalf("%+v", answer)
	}
	return answer.Response
}

// pods are as an API server sends them, with fields that this version of the API
// does not know.
var pods = map[string]string{
	"plain": `{"metadata":{"name":"p"},"spec":{"serviceAccountName":"default","future":1,"containers":[
		{"name":"a","image":"i","future":{"x":1},"livenessProbe":{"future":2,"httpGet":{"path":"/x","port":"web"},"timeoutSeconds":3},"ports":[{"name":"web","containerPort":80}]},
		{"name":"b","image":"i","readinessProbe":{"tcpSocket":{"port":81}},"startupProbe":{"grpc":{"port":9}}}]}}`,
	"with everything": `{"metadata":{"name":"p","labels":{"a":"b"},"annotations":{"x/y~z":"1"}},"spec":{"serviceAccountName":"default","restartPolicy":"Never",
		"volumes":[{"name":"v","emptyDir":{},"future":1}],
		"initContainers":[{"name":"i1","image":"i","future":1},{"name":"i2","image":"i","restartPolicy":"Always","livenessProbe":{"exec":{"command":["a"]}}}],
		"containers":[{"name":"a","image":"i"}]}}`,
	"no probes": `{"metadata":{},"spec":{"serviceAccountName":"default","containers":[{"name":"a"}]}}`,
}

func TestPatchIsWhatInjectDoes(t *testing.T) {
	for name, text := range pods {
		for _, form := range []mesh.Form{mesh.Default, mesh.OSMEdge} {
			t.Run(name+"/"+string(form), func(t *testing.T) {
				in := injection
				in.Form = form
				h := handlerFor(in)
				patched, _ := admit(t, h, NamespacePath, text)
				var before, got v1.Pod
				for data, into := range map[string]*v1.Pod{text: &before, patched: &got} {
					if err := json.Unmarshal([]byte(data), into); err != nil {
						t.Fatal(err)
					}
				}
				want, err := mesh.Inject(&before, in)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(normal(t, &got), normal(t, want)) {
					t.Errorf("got\n%s\nwant\n%s", normal(t, &got), normal(t, want))
				}
				if was, is := strings.Count(text, "future"), strings.Count(patched, "future"); was != is {
					t.Errorf("%d of %d unknown fields were kept:\n%s", is, was, patched)
				}
				if again, r := admit(t, h, NamespacePath, patched); r.Patch != nil {
					t.Errorf("a second time changes it again: %s\n%s", r.Patch, again)
				}
			})
		}
	}
}

func normal(t *testing.T, pod *v1.Pod) string {
	t.Helper()
	data, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOptingInAndOut(t *testing.T) {
	h := handlerFor(injection)
	with := func(metadata string) string {
		return `{"metadata":` + metadata + `,"spec":{"serviceAccountName":"default","containers":[{"name":"a"}]}}`
	}
	for _, tt := range []struct {
		path, pod string
		injected  bool
		warning   string
	}{
		{NamespacePath, with(`{}`), true, ""},
		{NamespacePath, with(`{"labels":{"mesh.whylet.dev/inject":"disabled"}}`), false, ""},
		{NamespacePath, with(`{"annotations":{"mesh.whylet.dev/inject":"false"}}`), false, ""},
		{PodPath, with(`{}`), false, ""},
		{PodPath, with(`{"labels":{"mesh.whylet.dev/inject":"enabled"}}`), true, ""},
		{NamespacePath, `{"spec":{"hostNetwork":true,"containers":[{"name":"a"}]}}`, false, "the node's network"},
		{NamespacePath, `{"spec":{"containers":[{"name":"a"}]}}`, false, "service account"},
		{NamespacePath, `{"spec":{"serviceAccountName":"x","containers":[{"name":"istio-proxy"}]}}`, false, "mesh istio"},
		{NamespacePath, `{"spec":{"serviceAccountName":"x","containers":[{"name":"whylet-mesh"}]}}`, false, "of its own called whylet-mesh"},
		{NamespacePath, `{"spec":{"serviceAccountName":"x","containers":[{"name":"a","ports":[{"containerPort":15901}]}]}}`, false, "15901"},
		{NamespacePath, `{"metadata":{"annotations":{"mesh.whylet.dev/original-probes":"{"}},"spec":{"serviceAccountName":"x","containers":[{"name":"a"}]}}`, false, "not readable"},
		{NamespacePath, `{"spec":"what"}`, false, "decode"},
	} {
		_, r := admit(t, h, tt.path, tt.pod)
		if (r.Patch != nil) != tt.injected {
			t.Errorf("%s %s: patch %s", tt.path, tt.pod, r.Patch)
		}
		if got := strings.Join(r.Warnings, " "); tt.warning == "" && got != "" || !strings.Contains(got, tt.warning) {
			t.Errorf("%s: warned %q", tt.pod, got)
		}
	}
}

func TestNotAReview(t *testing.T) {
	for _, body := range []string{"", "{}", "null", "[", `{"request":null}`} {
		w := httptest.NewRecorder()
		handlerFor(injection).ServeHTTP(w, httptest.NewRequest(http.MethodPost, PodPath, strings.NewReader(body)))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%q: %d", body, w.Code)
		}
	}
}

// FuzzAdmit sends any JSON as a pod: whatever it is, it is admitted. If it is a
// pod as an API server writes it, the patch applies, and once is enough.
func FuzzAdmit(f *testing.F) {
	for _, pod := range pods {
		f.Add([]byte(pod))
	}
	h := handlerFor(injection)
	f.Fuzz(func(t *testing.T, pod []byte) {
		if !json.Valid(pod) {
			t.Skip()
		}
		reviewed(t, h, NamespacePath, string(pod))
		var known v1.Pod
		if json.Unmarshal(pod, &known) != nil {
			return
		}
		patched, _ := admit(t, h, NamespacePath, normal(t, &known))
		if again, r := admit(t, h, NamespacePath, patched); r.Patch != nil {
			t.Fatalf("a second time changes it again: %s\n%s", r.Patch, again)
		}
	})
}

// BenchmarkAdmission is what the webhook adds to the creation of a pod, without
// the network and TLS.
func BenchmarkAdmission(b *testing.B) {
	h := handlerFor(injection)
	review, err := json.Marshal(admission.AdmissionReview{Request: &admission.AdmissionRequest{
		UID: "1", Operation: admission.Create, Resource: metav1.GroupVersionResource{Resource: "pods"},
		Object: runtime.RawExtension{Raw: []byte(pods["plain"])},
	}})
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, NamespacePath, bytes.NewReader(review)))
		_, _ = io.Copy(io.Discard, w.Body)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
