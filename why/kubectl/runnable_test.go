package kubectl

import (
	"testing"

	"whylet.dev/whylet/why/answer"
)

func TestWithoutPod(t *testing.T) {
	a := answer.Answer{Subject: answer.Subject{Kind: "Pod", Name: "web-1"}, Verdicts: []answer.Verdict{{Fixes: []answer.Fix{
		Inspect("read", Command("shop", "logs web-1 -c c -p")),
		Inspect("another", Command("shop", "logs web-10 -c c")),
		EditTemplate("shop", nil, "nothing"),
		{Text: "change it", Command: Command("shop", "get pod web-1 -o yaml >web-1.yaml   # then replace"), Risk: answer.Restarts},
		{Text: "edit it", Command: Command("", "edit deployment/web"), Risk: answer.Restarts},
	}}}}
	WithoutPod(&a)
	fixes := a.Verdicts[0].Fixes
	if len(fixes) != 4 || fixes[0].Text != "another" || fixes[2].Command != "" || fixes[3].Command == "" {
		t.Errorf("left %+v", fixes)
	}
	if kind, name, ok := Edited(fixes[3]); !ok || kind != "deployment" || name != "web" {
		t.Error(kind, name, ok)
	}
}

func TestAgainst(t *testing.T) {
	a := answer.Answer{Verdicts: []answer.Verdict{{Fixes: []answer.Fix{Inspect("", "kubectl why pod/x --suggest"), Inspect("", "kubectl get nodes")}}}}
	Against(&a, "--file x.facts")
	if f := a.Verdicts[0].Fixes; f[0].Command != "kubectl why pod/x --suggest --file x.facts" || f[1].Command != "kubectl get nodes" {
		t.Errorf("%+v", f)
	}
}
