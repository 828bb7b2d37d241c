package front_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	authv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/test/fronts"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
)

func TestAQuestionGoesThroughTheFront(t *testing.T) {
	w := fronts.New(t, nil)
	w.Node("node-a")
	w.Node("node-b") // where no agent is
	pod := w.Pod("shop", "web-1", "node-a")
	w.Pod("shop", "web-2", "node-b")
	w.Agent("node-a", w.Journal(pod, "oom-main"))
	w.Until("the agent tells of its pod", func() bool { return w.Ill("shop") == 1 })

	answers, err := w.Asker("shop").About(t.Context(), ask.Target{Kind: "pod", Name: "web-1"})
	if err != nil || len(answers) != 1 || answers[0].Subject.UID != pod.UID || answers[0].Verdicts[0].Cause != answer.MemoryLimit {
		t.Fatalf("%v %+v", err, answers)
	}
	parts, err := w.Asker("shop").Behind(t.Context(), answers[0])
	if err != nil || len(parts) != 1 || parts[0].Source.Stats().Facts < 10 {
		t.Errorf("the facts behind it: %v %v", err, parts)
	}
	all, err := w.Asker("shop").All(t.Context())
	if err != nil || len(all) != 2 || !strings.Contains(answer.Overview(all, answer.Style{}), "container-memory-limit") {
		t.Errorf("%v %+v", err, all)
	}
	// The node without an agent is answered for from the API, and says so.
	answers, err = w.Asker("shop").About(t.Context(), ask.Target{Kind: "pod", Name: "web-2"})
	if err != nil || len(answers) != 1 || !strings.Contains(answers[0].Journal.Gaps[0].Reason, "no agent on node node-b answered") {
		t.Errorf("%v %+v", err, answers)
	}
	if n := w.Ill("other"); n != 0 {
		t.Errorf("%d pods of shop are told of in other", n)
	}
}

// An agent that goes and comes back is waited for, and what it says meanwhile arrives.
func TestAnAgentMayGoAndComeBack(t *testing.T) {
	w := fronts.New(t, nil)
	w.Node("node-a")
	pod := w.Pod("shop", "web-1", "node-a")
	j := w.Journal(pod, "oom-main")
	stop := w.Agent("node-a", j)
	w.Until("the agent tells of its pod", func() bool { return w.Ill("") == 1 })
	stop()
	second := w.Pod("shop", "web-2", "node-a")
	w.Record(j, second, "wrong-port")
	w.Agent("node-a", j)
	answers, err := w.Asker("shop").About(t.Context(), ask.Target{Kind: "pod", Name: "web-1"})
	if err != nil || answers[0].Verdicts[0].Cause != answer.MemoryLimit {
		t.Errorf("%v %+v", err, answers)
	}
	w.Until("the second pod is told of", func() bool { return w.Ill("") == 2 })
}

// dial connects with a token, or a certificate, and says hello.
func dial(t *testing.T, w *fronts.World, token string, own ...tls.Certificate) (link.Dialled, error) {
	t.Helper()
	pool := x509.NewCertPool()
	ca, err := os.ReadFile(w.CA)
	if err != nil || !pool.AppendCertsFromPEM(ca) {
		t.Fatal(err)
	}
	c, err := grpc.NewClient(w.Address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, Certificates: own, MinVersion: tls.VersionTLS13})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s, err := link.Connect(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token), c)
	if err != nil {
		return nil, err
	}
	if err := s.Send(&link.ToFront{Hello: &link.Hello{}}); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	} // why a stream is over already, the next message says
	m, err := s.Recv()
	if err != nil {
		return nil, err
	}
	if m.Welcome == nil {
		t.Errorf("%+v", m)
	}
	return s, nil
}

func TestWhoIsNoAgentIsRefused(t *testing.T) {
	w := fronts.New(t, nil)
	w.Kube.Namespace(t, "evil", "whylet-agent")
	evil, err := w.Kube.Client.CoreV1().ServiceAccounts("evil").CreateToken(t.Context(), "whylet-agent", &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{Audiences: []string{link.Audience}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	unbound, err := w.Kube.Client.CoreV1().ServiceAccounts("whylet").CreateToken(t.Context(), "whylet-agent", &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{Audiences: []string{link.Audience}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ token, why string }{
		"no token":                            {"", "missing"},
		"nonsense":                            {"nonsense", "not valid"},
		"the API server's token":              {w.Token("node-a", "https://kubernetes.default.svc"), "not"},
		"another account":                     {evil.Status.Token, "no agent"},
		"of the right account, bound to none": {unbound.Status.Token, "bound to no pod"},
	} {
		if _, err := dial(t, w, c.token); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c, err := grpc.NewClient(w.Address, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Error(err)
	} else if s, err := link.Connect(t.Context(), c); err == nil {
		if _, err := s.Recv(); err == nil {
			t.Error("somebody listens without TLS")
		}
		_ = c.Close()
	}
	counts, agents, _ := w.Hub.Count()
	if counts.Refused != 5 || agents != 0 {
		t.Errorf("%+v, %d agents", counts, agents)
	}
}

// A node of Whylet's own is heard before an agent beside it, and each by its own certificate
// only: what it tells of its pods, why they went, and what it is asked.
func TestANodeSpeaksForItself(t *testing.T) {
	a := openArchive(t, filepath.Join(t.TempDir(), "a.db"))
	w := fronts.New(t, a)
	w.Node("node-a")
	pod, second := w.Pod("shop", "web-1", "node-a"), w.Pod("shop", "web-2", "node-a")
	beside := w.Journal(pod, "wrong-port")
	w.Agent("node-a", beside)
	w.Until("the agent tells of its pod", func() bool { return w.Ill("shop") == 1 })
	own := w.Journal(pod, "oom-main")
	w.Record(own, second, "oom-main")
	w.Own("node-a", own)
	w.Until("the node tells of its pods", func() bool { return w.Ill("shop") == 2 })
	for range 3 { // the agent comes again and again
		answers, err := w.Asker("shop").About(t.Context(), ask.Target{Kind: "pod", Name: "web-1"})
		if err != nil || len(answers) != 1 || answers[0].Verdicts[0].Cause != answer.MemoryLimit {
			t.Errorf("%v %+v", err, answers)
		}
	}
	if _, err := dial(t, w, w.Token("node-a", link.Audience)); err == nil || !strings.Contains(err.Error(), "speaks for itself") {
		t.Errorf("an agent beside it is heard: %v", err)
	}
	end(t, w, own, second)
	w.Until("its closing answer is kept", func() bool {
		c, ok, err := a.Newest(t.Context(), "shop", "web-2", second.UID)
		return err == nil && ok && c.Node == "node-a" && c.Confirmed
	})
	for name, c := range map[string]struct {
		shown tls.Certificate
		why   string
	}{
		"an administrator":          {w.Certificate("admin", "system:masters"), "no node"},
		"a user by a node's name":   {w.Certificate("system:node:node-a", "users"), "no node"},
		"a node that is gone":       {w.Certificate("system:node:node-z", "system:nodes"), "not found"},
		"nobody's the API server's": {w.Stranger("system:node:node-a", "system:nodes"), "not the API server's"},
	} {
		if _, err := dial(t, w, w.Token("node-a", link.Audience), c.shown); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// said is an answer about a pod.
func said(t testing.TB, p fact.Pod) json.RawMessage {
	t.Helper()
	a := answer.New(answer.Subject{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}, time.Now(), answer.Coverage{})
	a.Put(answer.Symptom{Kind: answer.Restarted}, answer.Verdict{Cause: answer.AppExitError, Certainty: answer.Recorded, Text: "it ended"})
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func keyOf(p *v1.Pod) fact.Pod { return fact.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID} }

// An agent can speak of its own node's pods and of no others, however many it hides them
// among, and take away no pod of others.
func TestAnAgentSpeaksOfItsOwnPodsOnly(t *testing.T) {
	w := fronts.New(t, nil)
	w.Node("node-a")
	w.Node("node-b")
	foreign := w.Pod("shop", "web-1", "node-a")
	w.Agent("node-a", w.Journal(foreign, "oom-main"))
	w.Until("the agent tells of its pod", func() bool { return w.Ill("") == 1 })
	own := w.Pod("shop", "web-2", "node-b")
	s, err := dial(t, w, w.Token("node-b", link.Audience))
	if err != nil {
		t.Fatal(err)
	}
	invented := fact.Pod{Namespace: "shop", Name: "nobody", UID: "u"}
	disguised := fact.Pod{Namespace: "other", Name: "web-2", UID: own.UID}
	var pods []link.Pod
	for _, p := range []fact.Pod{keyOf(foreign), invented, disguised} {
		pods = append(pods, link.Pod{Pod: p, Answer: said(t, p)})
	}
	pods = append(pods, link.Pod{Pod: keyOf(own), Answer: said(t, keyOf(foreign))}) // about another
	for _, m := range []link.Standing{{Pods: pods}, {Pods: pods[:1]}, {Gone: []uidOf{foreign.UID}}} {
		if err := s.Send(&link.ToFront{Standing: &m}); err != nil {
			t.Fatal(err)
		}
	}
	w.Until("what is not its own is refused", func() bool { c, _, _ := w.Hub.Count(); return c.Foreign >= 3 && c.Malformed >= 1 })
	if err := s.Send(&link.ToFront{Standing: &link.Standing{Whole: true, Pods: []link.Pod{{Pod: keyOf(own), Answer: said(t, keyOf(own))}}}}); err != nil {
		t.Fatal(err)
	}
	w.Until("its own pod is told of", func() bool { return w.Ill("") == 2 })
	w.Hub.Each(func(node string, a answer.Answer) {
		if a.Subject.UID == foreign.UID && (node != "node-a" || a.Verdicts[0].Cause != answer.MemoryLimit) || a.Subject.UID == own.UID && node != "node-b" {
			t.Errorf("node %s says %s of pod %s", node, a.Verdicts[0].Cause, a.Subject.Name)
		}
	})
}

type uidOf = types.UID
