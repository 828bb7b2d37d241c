package why

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
)

// timedLines reads the lines of a log in testdata/degraded.txt: each with how long ago it was written, oldest first.
func timedLines(t *testing.T, text string, now time.Time) (log Log) {
	t.Helper()
	ago := func(s string) time.Duration {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	type line struct {
		at   time.Time
		text string
	}
	var all []line
	for _, l := range strings.Split(strings.Trim(text, "\n"), "\n") {
		if l == "" {
			continue
		}
		when, said, _ := strings.Cut(l, " ")
		when, every, often := strings.Cut(when, "/")
		from, until, _ := strings.Cut(when, "-")
		if !often {
			all = append(all, line{now.Add(-ago(from)), said})
			continue
		}
		for i, d := 0, ago(from); d >= ago(until); i, d = i+1, d-ago(every) {
			all = append(all, line{now.Add(-d), strings.ReplaceAll(said, "#", strconv.Itoa(i))})
		}
	}
	for i := range all { // what is of one time stays in its order
		for j := i; j > 0 && all[j].at.Before(all[j-1].at); j-- {
			all[j], all[j-1] = all[j-1], all[j]
		}
	}
	for _, l := range all {
		log.Lines, log.At = append(log.Lines, l.text), append(log.At, l.at)
	}
	return log
}

// A Ready pod is degraded by what its log complains of now, and by nothing else that it says.
func TestDegraded(t *testing.T) {
	raw, err := os.ReadFile("testdata/degraded.txt")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 28, 10, 10, 0, 0, time.UTC)
	pod := web(silentProbe)
	pod.UID = types.UID("1")
	pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, v1.EnvVar{Name: "https_proxy", Value: "http://gateway:3129"})
	all := strings.Split(string(raw), "\n=== ")[1:]
	if len(all) < 40 {
		t.Errorf("only %d logs", len(all))
	}
	for _, text := range all {
		name, rest, _ := strings.Cut(text, "\n")
		lines, want, _ := strings.Cut(rest, "---\n")
		want, quote, _ := strings.Cut(strings.TrimSpace(want), " ")
		log := timedLines(t, lines, now)
		log.Container = "app"
		a := answer.New(answer.Subject{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}, now, answer.Coverage{})
		a.Put(answer.Symptom{Kind: answer.Healthy}, answer.Verdict{Cause: answer.None})
		bad := Degrade(&a, pod, []Log{log})
		v := a.Verdicts[0]
		switch {
		case !bad && want != "well":
			t.Errorf("%s: nothing is seen of %q", name, quote)
		case bad && want == "well":
			t.Errorf("%s: it is well, and not: %s", name, v.Text)
		case !bad:
		case want != "-" && string(v.Cause) != want, !strings.Contains(v.Repeats[0].Text, quote), a.Symptoms[0].Kind != answer.Degraded:
			t.Errorf("%s: %s: %s, want %s: %s", name, v.Cause, v.Text, want, quote)
		case len(v.Fixes) == 0 || len(v.Chain) == 0 || a.Symptoms[0].Count != v.Repeats[0].Count:
			t.Errorf("%s: %+v", name, v)
		case v.Cause == answer.DependencyDown && len(a.Reaches) == 0:
			t.Errorf("%s: whom it asks is not known: %+v", name, v.Repeats)
		}
		if testing.Verbose() {
			t.Logf("%s: %v %s %s", name, bad, v.Cause, v.Text)
		}
	}
}

// Of two containers of a pod that log errors, the one that says what it lacks itself tells why the other fails.
func TestDegradedTwo(t *testing.T) {
	now := time.Date(2026, 11, 28, 10, 10, 0, 0, time.UTC)
	pod := web(silentProbe)
	pod.UID = types.UID("1")
	server := pod.Spec.Containers[0]
	server.Name = "sshd"
	server.SecurityContext = &v1.SecurityContext{Capabilities: &v1.Capabilities{Drop: []v1.Capability{"ALL"}}}
	pod.Spec.Containers = append(pod.Spec.Containers, server)
	own := timedLines(t, "120s-0s/5s chroot(\"/run/sshd\"): Operation not permitted [preauth]\n", now)
	own.Container = "sshd"
	for said, want := range map[string]string{
		"error : 'borg' failed protocol test [SSH] at [127.0.0.1]:2222 [TCP/IP]":    "sshd",
		"ERROR dial tcp: connect to db:5432: connection refused":                    "app",
		"ERROR could not connect to 127.0.0.1 port 2222: Connection refused (os 7)": "sshd",
	} {
		first := timedLines(t, "120s-0s/5s "+said+"\n", now)
		first.Container = "app"
		a := answer.New(answer.Subject{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}, now, answer.Coverage{})
		a.Put(answer.Symptom{Kind: answer.Healthy}, answer.Verdict{Cause: answer.None})
		Degrade(&a, pod, []Log{first, own})
		v := a.Verdicts[0]
		if a.Symptoms[0].Container != want || len(v.Contributing) != 1 {
			t.Errorf("%s: %+v", said, v)
		}
		if want == "sshd" && (v.Cause != answer.SecurityRefused || !strings.Contains(v.Fixes[0].Text, "SYS_CHROOT")) {
			t.Errorf("%s: %s, %+v", said, v.Cause, v.Fixes)
		}
	}
}
