package why

import (
	"os"
	"slices"
	"strings"
	"testing"

	"whylet.dev/whylet/why/answer"
)

// noStory lists the rules without a story in testdata/rules, by why.
var noStory = map[string][]string{
	"they look at more than one pod, or at no pod: the tests of why/cluster and why/ask tell them": {
		"another-pod", "foreign-scheduler", "job-failed", "load-balancer-refused", "name-for-nothing", "no-node-fits", "no-selector", "nobody-behind",
		"nobody-listens", "node-name-server", "node-never-was", "node-not-ready", "old-address", "probe-own-service", "refused-at-creation",
		"scaled-to-zero", "scheduler-message", "selector", "suspended", "target-port", "replaced-by-revision",
	},
	"they only rule out, and never give the verdict":                                                        {"cache-at-limit", "oom-not-this"},
	"they tell how a decision of kubelet is known, which every story tells again ([sight])":                 {"act-deduced", "act-matched"},
	"the sandbox that is gone is told by TestReboot":                                                        {"reboot"},
	"another rule sees more of every story that was found, and it yields: may go when the cases are merged": {"probe-protocol-said"},
}

// TestEveryRuleFires holds every rule to a story in which it gives the verdict, and every file of stories
// to a rule.
func TestEveryRuleFires(t *testing.T) {
	told := map[string]bool{}
	for _, names := range noStory {
		for _, name := range names {
			told[name] = true
		}
	}
	files, fired := stories(t), 0
	for _, r := range Rules() {
		if r.Name == "" || told[r.Name] {
			continue
		}
		raw, err := os.ReadFile(files[r.Name])
		gives := strings.Contains(string(raw), ", inferred by "+r.Name+"\n") || slices.ContainsFunc(strings.Split(string(raw), "\n"), func(line string) bool {
			_, verdict, _ := strings.Cut(line, ": ")
			cause, _, _ := strings.Cut(verdict, " ")
			return strings.HasSuffix(line, ", recorded") && slices.ContainsFunc(r.Causes, func(c answer.Cause) bool { return string(c) == cause })
		})
		switch {
		case err != nil:
			t.Errorf("rule %s has no file of stories: %v", r.Name, err)
		case !gives:
			t.Errorf("no story in %s ends with a verdict of rule %s", files[r.Name], r.Name)
		default:
			fired++
		}
	}
	for name := range files {
		if known := slices.ContainsFunc(Rules(), func(r Rule) bool { return r.Name == name }); !known && !strings.HasPrefix(name, "recorded-") && name != "unknown" {
			t.Errorf("%s is about no rule", files[name])
		}
	}
	t.Logf("%d rules give a verdict in their own stories, %d have none", fired, len(told))
}
