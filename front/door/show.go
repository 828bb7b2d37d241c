package door

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	authn "k8s.io/api/authentication/v1"

	"whylet.dev/whylet/web"
	"whylet.dev/whylet/web/timeline"
	"whylet.dev/whylet/why/answer"
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
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'") // what it may load, the page says itself
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if spec.All {
		all, err := c.All(r.Context())
		if len(all) == 0 && err != nil {
			return err
		}
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		return overview.Execute(w, overviewOf(namespace, all, err))
	}
	answers, err := c.About(r.Context(), target)
	if len(answers) == 0 {
		return err
	}
	found, _ := c.Behind(r.Context(), answers[0]) // a page with less on it
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
	return web.Write(w, web.Of(answers[0], "kubectl why "+target.String()+" -n "+target.Namespace, parts...))
}

// row is a line of the overview.
type row struct {
	Namespace, Kind, Name, Symptom, Cause, Text, Certainty, Last string
}

type overviewPage struct {
	Scope, Missing string
	Well           int
	Rows           []row
}

func overviewOf(namespace string, all []answer.Answer, missing error) overviewPage {
	p := overviewPage{Scope: cmp.Or(namespace, "all namespaces")}
	if missing != nil {
		p.Missing = missing.Error()
	}
	for _, a := range all {
		if len(a.Verdicts) == 0 {
			p.Well += a.Well
		}
		for i, v := range a.Verdicts {
			s := a.Symptoms[i]
			if answer.WellOrDone(s, v) {
				continue
			}
			last := ""
			if !s.Last.IsZero() {
				last = s.Last.UTC().Format(time.RFC3339)
			}
			p.Rows = append(p.Rows, row{a.Subject.Namespace, strings.ToLower(a.Subject.Kind), a.Subject.Name, string(s.Kind), string(v.Cause), v.Text, string(v.Certainty), last})
		}
	}
	return p
}

var overview = template.Must(template.New("overview").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>What is not well in {{.Scope}}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color-scheme: light dark }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); vertical-align: top }
</style>
<h1>What is not well in {{.Scope}}</h1>
{{if .Missing}}<p role="status">{{.Missing}}</p>{{end}}
{{if .Rows}}<table><thead><tr><th scope="col">What</th><th scope="col">Symptom</th><th scope="col">Why</th><th scope="col">Known</th><th scope="col">Last</th></tr></thead><tbody>
{{range .Rows}}<tr><td><a href="page?namespace={{.Namespace}}&amp;kind={{.Kind}}&amp;name={{.Name}}">{{.Namespace}}/{{.Name}}</a></td><td>{{.Symptom}}</td><td>{{.Text}} <small>{{.Cause}}</small></td><td>{{.Certainty}}</td><td><time>{{.Last}}</time></td></tr>
{{end}}</tbody></table>{{end}}
<p>{{.Well}} others are well or done.</p>
</html>
`))
