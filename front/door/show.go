package door

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	authn "k8s.io/api/authentication/v1"

	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/web"
	"whylet.dev/whylet/web/timeline"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/question"
)

// sentence is the worst that is known of a pod, in one line; empty where nothing is.
func (h *HTTPS) sentence(ctx context.Context, namespace, pod string) string {
	c, target, err := h.Answerer.asker(h.Answerer.listen(), scope(namespace), question.Spec{Name: pod})
	if err != nil {
		return ""
	}
	answers, err := c.About(ctx, target)
	if err != nil || len(answers) == 0 || len(answers[0].Verdicts) == 0 {
		return ""
	}
	v := answers[0].Verdicts[0]
	return fmt.Sprintf("%s (%s, %s)", oneLine(v.Text), v.Cause, v.Certainty)
}

func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' {
			return ' '
		}
		return r
	}, text)
}

// page shows one thing with its timeline, or what is not well.
func (h *HTTPS) page(w http.ResponseWriter, r *http.Request, user authn.UserInfo) error {
	namespace, spec, err := h.scoped(r, user)
	if err != nil {
		return err
	}
	c, target, err := h.Answerer.asker(h.Answerer.listen(), scope(namespace), spec)
	if err != nil {
		return err
	}
	ctx, done := context.WithCancel(r.Context())
	defer done()
	var page bytes.Buffer
	if spec.All {
		err = overview(ctx, &page, c, namespace)
	} else {
		err = history(ctx, &page, c, target)
	}
	done() // whoever reads it slowly keeps no facts in memory
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'") // what it may load, the page says itself
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.Bytes()) // who went away does not want it
	return nil
}

// overview is what is not well, with who did not answer beside those who did.
func overview(ctx context.Context, w io.Writer, c *ask.Cluster, namespace string) error {
	all, err := c.All(ctx)
	if len(all) == 0 && err != nil {
		return err
	}
	return web.WriteOverview(w, web.Overview{Namespace: namespace, AsOf: time.Now(), Answers: all, Missing: err})
}

// history is an answer with its timeline; what cannot be had leaves less on it.
func history(ctx context.Context, w io.Writer, c *ask.Cluster, target ask.Target) error {
	answers, err := c.About(ctx, target)
	if len(answers) == 0 {
		return cmp.Or(err, fmt.Errorf("nothing is known of %s", target))
	}
	found, _ := c.Behind(ctx, answers[0])
	var parts []timeline.PodInput
	for _, p := range found {
		of := web.Pod
		if p.Question.Node {
			of = web.Node
		}
		if p.Source == nil {
			continue
		}
		if part, err := of(p.Source, p.Question, p.Node); err == nil {
			parts = append(parts, part)
		}
	}
	d := web.Of(answers[0], string(shell.Linef("kubectl why %s -n %s", target.String(), target.Namespace)), parts...)
	d.Page = "page"
	return web.Write(w, d)
}
