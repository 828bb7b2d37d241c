package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// asWord fits what a shell takes for one word, with variables in it.
var asWord = regexp.MustCompile(`[\w./:@%+,=-]*\$\{?[A-Z][A-Z0-9_]*\}?[\w./:@%+,=${}-]*`)

// leastMade is how much of a word has to stand there beside its variables for it to be found in what a program says.
const leastMade = 6

// ShowEmpty has what to do begin with the variable that a command or script makes a word of and that the container is
// not given, where a program's words have that word without it: "/app/shop-.jar" of "/app/shop-${VERSION}.jar".
func ShowEmpty(v *answer.Verdict, pod *v1.Pod, all []v1.ConfigMap) {
	quoted, _ := ownWords(*v)
	c := blamedContainer(*v, pod)
	if c == nil || quoted == "" {
		return
	}
	lines := givenTo(pod, c, all)
	for _, arg := range append(append([]string{}, c.Command...), c.Args...) {
		for text := range strings.SplitSeq(arg, "\n") {
			lines = append(lines, line{text: text})
		}
	}
	for _, l := range lines {
		for _, word := range asWord.FindAllString(l.text, -1) {
			name, ok := madeEmpty(word, quoted, c, all)
			if !ok || comment.MatchString(l.text) {
				continue
			}
			where := ofCommand(l.text)
			if l.configMap != "" {
				where = l.where()
			}
			v.AddFirst(setIn(pod, c, fmt.Sprintf("%s, which %s wants and nothing gives it,", name, where), []string{name}))
			return
		}
	}
}

// madeEmpty is the variable of a word that is not given, where words have the word without it.
func madeEmpty(word, quoted string, c *v1.Container, all []v1.ConfigMap) (name string, ok bool) {
	fits, last, beside := "", 0, 0
	for _, m := range inTemplate.FindAllStringSubmatchIndex(word, -1) {
		before := word[last:m[0]]
		fits += regexp.QuoteMeta(before)
		beside += len(before)
		of := inTemplate.FindStringSubmatch(word[m[0]:m[1]])
		if one := of[1] + of[2]; lacksVariable(one, c, all) {
			name = one
		} else {
			fits += `\S*?`
		}
		last = m[1]
	}
	fits += regexp.QuoteMeta(word[last:])
	beside += len(word[last:])
	if name == "" || beside < leastMade {
		return "", false
	}
	return name, regexp.MustCompile(`(?:^|[^\w./-])` + fits + `(?:$|[^\w/-])`).MatchString(quoted)
}

// readOf fits the variables that code reads from its environment, without another value where they are not set.
var readOf = regexp.MustCompile(`(?:\bos\.environ(?:\.get)?|\bgetenv|\bprocess\.env|\bENV(?:\.fetch)?|\bSystem\.getenv)[.(\[]{1,2}['"]?([A-Z][A-Z0-9_]{2,})['"]?\s*(?:[)\]},;]|$)`)

// mostRead is how many variables are told that nothing sets: of more nobody knows which are wanted.
const mostRead = 2

// ShowUnread names the variables of which code in its ConfigMaps, or at the end of its log, has an address, where a
// container asks its own pod for what is not there.
func ShowUnread(v *answer.Verdict, pod *v1.Pod, all []v1.ConfigMap) {
	c := blamedContainer(*v, pod)
	at := v.Step(answer.StepGiveAddress)
	if c == nil || at < 0 {
		return
	}
	for _, text := range v.LastWords {
		if m := readOf.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
			v.Fixes = slices.Clone(v.Fixes)
			v.Fixes[at].Text = kubectl.GiveAddress(v.Fixes[at].Slots, "in variable "+m[1]+", which its code reads there")
			return
		}
	}
	var lacks []string
	for _, l := range givenTo(pod, c, all) {
		for _, m := range readOf.FindAllStringSubmatch(l.text, -1) {
			if code.MatchString(l.key) && !comment.MatchString(l.text) && lacksVariable(m[1], c, all) && !slices.Contains(lacks, m[1]) {
				lacks = append(lacks, m[1])
			}
		}
	}
	if len(lacks) > 0 && len(lacks) <= mostRead {
		v.AddFirst(setIn(pod, c, prose.Some(lacks)+", which its code reads and nothing gives it,", lacks))
	}
}
