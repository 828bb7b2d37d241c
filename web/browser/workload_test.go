package browser

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"whylet.dev/whylet/web"
	"whylet.dev/whylet/web/timeline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/serve"
)

// workload is the document of a deployment, whose pods' histories are recorded ones. Of
// the last nobody brought the facts.
func workload(t *testing.T, histories []string, missing int) timeline.Document {
	t.Helper()
	var answers []answer.Answer
	var parts []timeline.PodInput
	for _, name := range histories {
		source, q := opened(t, name)
		a, err := serve.One(source, q)
		if err != nil {
			t.Fatal(err)
		}
		part, err := web.Pod(source, q, "vm")
		if err != nil {
			t.Fatal(err)
		}
		answers, parts = append(answers, a), append(parts, part)
	}
	answer.WorstFirst(answers)
	slices.SortStableFunc(parts, func(a, b timeline.PodInput) int {
		of := func(p timeline.PodInput) int {
			return slices.IndexFunc(answers, func(a answer.Answer) bool { return a.Subject.UID == p.Pod.UID })
		}
		return of(a) - of(b)
	})
	a := cluster.WorkloadAnswer(cluster.Workload{Subject: answer.Subject{Kind: "Deployment", Namespace: "default", Name: "web"}, Wanted: len(answers)}, answers, answers[len(answers)-1].AsOf)
	return web.Of(a, "kubectl why deployment/web", parts[:len(parts)-missing]...)
}

// Two pods of a workload stand above each other on one clock, each with its own facts,
// though these have the same numbers.
func TestWorkload(t *testing.T) {
	d := workload(t, []string{"slow-handler", "listener-gone"}, 0)
	b := open(t, 1280, 900)
	b.show(d)
	if n := eval[int](b, "document.querySelectorAll('.podname').length"); n != 2 {
		t.Errorf("%d pods have a title", n)
	}
	for _, name := range []string{"p8b", "p10b"} {
		b.do(chromedp.Click(chromedp.Search(fmt.Sprintf("//article[contains(., '%s')]//button[contains(@class, 'link')][last()]", name))))
		if place := eval[string](b, "document.querySelector('.detail .raw pre').textContent"); !strings.Contains(place, `"name": "`+name+`"`) {
			t.Errorf("a line about %s leads to %s", name, place)
		}
	}
	b.calm()
}

// Of many pods the worst is open and the others show when they ran; each opens by a click,
// by a key, and when a line of the answer leads to it. Who has no lanes here is named with
// where its page is.
func TestManyPods(t *testing.T) {
	d := workload(t, manyPods(t), 5)
	b := open(t, 1280, 1000)
	b.show(d)
	pods := eval[int](b, "document.querySelectorAll('.podname').length")
	expanded := func() int {
		return eval[int](b, "document.querySelectorAll('.podname [aria-expanded=true]').length")
	}
	if pods != len(d.Pods) || pods < 9 || expanded() != 1 {
		t.Errorf("%d pods of %d have a title, %d of them are open", pods, len(d.Pods), expanded())
	}
	if n := eval[int](b, "document.querySelectorAll('.group canvas').length"); n < pods {
		t.Errorf("%d groups of lanes for %d pods", n, pods)
	}
	b.do(chromedp.Click(chromedp.CSS(".podname [aria-expanded=false]")))
	b.do(chromedp.Focus(chromedp.CSS(".podname [aria-expanded=false]")), chromedp.KeyEvent(kb.Enter))
	if n := expanded(); n != 3 {
		t.Errorf("%d pods are open after a click and a key", n)
	}
	b.do(chromedp.Click(chromedp.Search("//button[contains(., 'All pods open')]")))
	if n := expanded(); n != pods {
		t.Errorf("%d pods are open of %d", n, pods)
	}
	b.do(chromedp.Click(chromedp.Search("//button[contains(., 'All pods open')]")))
	b.do(chromedp.Click(chromedp.Search("//article[5]/p[@class='cause']/button")))
	if n := expanded(); n != 1 {
		t.Errorf("%d pods are open after a line of the answer led to one", n)
	}
	if got := b.text(".others"); len(d.Others) < 2 || !strings.Contains(got, "kubectl why pod/"+d.Others[0].Name+" -n default --web") {
		t.Errorf("%+v: %s", d.Others, got)
	}
	for _, o := range d.Others {
		told := "[...document.querySelectorAll('.verdict')].filter(v => v.textContent.includes(" + quoted("pod "+o.Name+":") + "))"
		if n := eval[int](b, told+".flatMap(v => [...v.querySelectorAll('button:enabled')]).length"); n != 0 {
			t.Errorf("%d lines about %s, whose facts are not here, lead somewhere", n, o.Name)
		}
	}
	b.accessible()
	b.calm()
	d.Page = "page"
	b.show(d)
	if got := eval[string](b, "document.querySelector('.others a').getAttribute('href')"); got != "page?namespace=default&kind=pod&name="+url.QueryEscape(d.Others[0].Name) {
		t.Error("a page is at", got)
	}
}

// manyPods are all recorded histories.
func manyPods(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../why/serve/testdata/*.facts")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var names []string
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".facts")
		if _, q := opened(t, name); q.Namespace == "default" && !seen[q.Name] {
			seen[q.Name] = true
			names = append(names, name)
		}
	}
	return names
}
