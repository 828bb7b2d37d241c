package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/words"
)

// echo is how many letters of what one says must be what another says, to be of it.
const echo = 36

var unquoted = strings.NewReplacer(`\`, "", `"`, "")

func plain(text string) string {
	return strings.Join(strings.Fields(unquoted.Replace(text)), " ")
}

// repeat says whether words have so much of a text that they are of it.
func repeat(said []string, text string) bool {
	text = plain(text)
	return slices.ContainsFunc(said, func(s string) bool {
		s = plain(s)
		for at := 0; at+echo <= len(text); at++ {
			if strings.Contains(s, text[at:at+echo]) {
				return true
			}
		}
		return false
	})
}

// SameWords says whether words have so much of what a hop quotes that they are of it.
func SameWords(said []string, h answer.Hop) bool {
	quoted := append(inner(h.Told), reasons(h.Told)...)
	return slices.ContainsFunc(quoted, func(q string) bool { return repeat(said, q) })
}

// Echoes says whether words have what the log of a pod says now of a disk of its own that is full.
func Echoes(said []string, a *answer.Answer) bool {
	i, full := SaysFull(a)
	return full && repeat(said, a.Complaints[i].Text)
}

// Repeated is the error that the log of a pod tells of now as its own, where words have it too; ofItself
// is set where that is of what the pod itself lacks or may not, and not of what it was asked.
func Repeated(said []string, a *answer.Answer) (c answer.Complaint, ofItself, ok bool) {
	i := ownError(a, false)
	if i < 0 || !repeat(said, a.Complaints[i].Text) {
		return answer.Complaint{}, false, false
	}
	c = a.Complaints[i]
	return c, knowledge.Any(c.Text, knowledge.OfItself, knowledge.NoSpace, knowledge.SmallShm, knowledge.OpenFiles), true
}

// SaysToo adds to a verdict that the words which it quotes are those of another pod, which looks well.
func SaysToo(v *answer.Verdict, pod *v1.Pod, by string, c answer.Complaint) {
	more := slices.DeleteFunc(strings.Split(c.Text, " / "), v.TellsWords)
	v.SayBecause(fmt.Sprintf("The log of container %s of pod %s/%s has the same words (%s): it is that pod which says so.", c.Container, pod.Namespace, pod.Name, by))
	if len(more) > 0 {
		v.SayBecause(fmt.Sprintf("It says more there: %s.", strings.TrimSuffix(strings.Join(more, " / "), ".")))
	}
	v.AddFirst(kubectl.Inspect("read what that pod said around it", kubectl.Command(pod.Namespace, "logs %s -c %s --tail=100", pod.Name, c.Container)))
}

// WasAnswered says whether a verdict is that of one which was answered, or given up, by whom it asks: with a
// failure, or in the midst.
func WasAnswered(a *answer.Answer, v answer.Verdict) bool {
	return Plain(v) || FailsCommand(v) || v.Cause != answer.DependencyDown && slices.ContainsFunc(Words(a, v), func(text string) bool {
		return AnsweredFailure(text) || words.ToldNo(text) || words.BreaksOff(text)
	})
}

// Meanwhile is what the log of a pod that looks well tells now of an error or warning as its own.
func Meanwhile(a *answer.Answer) (answer.Complaint, bool) {
	if i := ownError(a, false); i >= 0 {
		return a.Complaints[i], true
	}
	if c := first(a.Warnings, func(c answer.Complaint) bool { return !c.Another }); c != nil {
		return *c, true
	}
	return answer.Complaint{}, false
}

// SaysMeanwhile adds to a verdict what the one pod that it asks, and that looks well, says in its log now.
func SaysMeanwhile(v *answer.Verdict, pod *v1.Pod, c answer.Complaint) {
	v.SayBecause(fmt.Sprintf("Pod %s/%s, which it asks, is ready, and the log of its container %s says meanwhile: %s.", pod.Namespace, pod.Name, c.Container, strings.TrimSuffix(c.Text, ".")))
	v.AddFirst(kubectl.Inspect("read what that pod said around it", kubectl.Command(pod.Namespace, "logs %s -c %s --tail=100", pod.Name, c.Container)))
}

// things are names of what is worked at: in quotes, after a word for such a thing, or an id.
var things = regexp.MustCompile("[\"'`]([A-Za-z][\\w.:/-]{4,79})[\"'`]" +
	`|(?i:\b(?:task|job|message|event|queue|topic|stream|exchange|subject|channel|routing[ _]key|bucket|collection)(?:[ _](?:name|id|type))?(?:: |=| ))([A-Za-z][\w.:/-]{4,79})` +
	`|\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b`)

// setting fits what variables are called, raised what errors are, inFile what files are.
var setting, raised, inFile = regexp.MustCompile(`^[A-Z0-9_]+$`), regexp.MustCompile(`(?:Error|Exception)$`), regexp.MustCompile(`\.(?:py|m?js|ts|rb|java|php|go|sh|html?|ya?ml|json|conf|cfg|ini|toml|xml)$|://|:\d+$`)

// Things are the names that words have for what is worked at, such as a task's or a queue's: only
// those that are no mere words, nor of a file, a place, a setting or an error.
func Things(said []string) []string {
	return thingsOf(said, func(m []string) (string, bool) {
		name := strings.TrimRight(m[1]+m[2]+m[3], ".:-")
		mere := !strings.ContainsAny(name, "._-:0123456789") || setting.MatchString(name) || raised.MatchString(name) || inFile.MatchString(name)
		return name, len(name) >= 6 && !mere
	})
}

func thingsOf(said []string, name func(match []string) (string, bool)) (all []string) {
	for _, text := range said {
		for _, m := range things.FindAllStringSubmatch(text, -1) {
			if one, ok := name(m); ok && !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// ThingsCalled are the names that words have for a queue or its like right behind the word for that, be they
// mere words themselves.
func ThingsCalled(said []string) []string {
	return thingsOf(said, func(m []string) (string, bool) {
		name := strings.TrimRight(m[2], ".:-")
		return name, name != ""
	})
}

// ConfiguredFor is the first of some things whose name a pod's specification has for a value.
func ConfiguredFor(pod *v1.Pod, things []string) string {
	for _, s := range Settings(pod) {
		for _, thing := range things {
			if words.Has(s.Text, thing) {
				return thing
			}
		}
	}
	return ""
}

// rightBefore is how long before the effect another may have gone that takes from the same queue: who looks
// for it does now and then; meanwhile how long after that began, as it may go while it is looked for.
const rightBefore, meanwhile = 30 * time.Second, 5 * time.Second

// WentBefore says whether a pod is not well for a reason of its own, and has been so since right before
// another began to fail that had been well.
func WentBefore(a *answer.Answer, well, since time.Time) bool {
	i := Root(a)
	if i < 0 || well.IsZero() || MayLead(a.Verdicts[i]) {
		return false
	}
	first := a.Symptoms[i].First
	return !first.IsZero() && !first.After(since.Add(meanwhile)) && first.After(well.Add(-rightBefore))
}

// WorksAt is the error of a pod that it has at its work with one of some things, as those do to whom a
// queue gives it, and that thing: not one that says no other than the words of another.
func WorksAt(a *answer.Answer, things, said []string) (thing, text string) {
	var v answer.Verdict
	if i := Root(a); i >= 0 {
		v = a.Verdicts[i]
	}
	for _, text := range Quoted(a, v) {
		if !knowledge.AtWork.In(text) || repeat(said, text) {
			continue
		}
		for _, thing := range things {
			if regexp.MustCompile(`(?:^|[^\w./-])` + regexp.QuoteMeta(thing) + `(?:[^\w/-]|$)`).MatchString(text) {
				return thing, text
			}
		}
	}
	return "", ""
}
