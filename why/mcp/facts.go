package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/serve"
)

// mostFacts is how many facts one call gives: a model reads no more, and can ask on.
const mostFacts = 200

// behind are the facts behind an answer about one thing, by id, as they leave a node.
func (t tools) behind(ctx context.Context, in object) ([]fact.Fact, error) {
	from, target, err := t.ask(subject{Kind: in.Kind, Name: in.Name, Namespace: in.Namespace})
	if err != nil {
		return nil, err
	}
	h, ok := from.(ask.Historian)
	if !ok || target.Kind != "pod" && target.Kind != "node" {
		return nil, errors.New("facts are of a pod or of a node")
	}
	answers, err := from.About(ctx, target)
	if err != nil {
		return nil, err
	}
	if len(answers) == 0 {
		return nil, fmt.Errorf("nothing is known of %s", target)
	}
	parts, err := h.Behind(ctx, answers[0])
	var all []fact.Fact
	for _, p := range parts {
		if p.Source == nil {
			continue
		}
		facts, err := serve.Facts(p.Source, p.Question)
		if err != nil {
			return nil, err
		}
		all = append(all, fact.AllOutward(facts)...)
	}
	if len(all) == 0 && err == nil {
		err = errors.New("nobody keeps facts of it: what the API shows is all there is, see why")
	}
	return all, err
}

// object is of which facts are kept.
type object struct {
	Kind      string `json:"kind,omitempty" jsonschema:"pod (the default) or node"`
	Name      string `json:"name" jsonschema:"its name"`
	Namespace string `json:"namespace,omitempty" jsonschema:"its namespace; default: that of the kubeconfig"`
}

type window struct {
	object
	From string `json:"from,omitempty" jsonschema:"first moment, as RFC 3339; default: as far back as is kept"`
	To   string `json:"to,omitempty" jsonschema:"last moment, as RFC 3339; default: now"`
}

// entry is a fact in one line.
type entry struct {
	ID   fact.ID   `json:"id"`
	At   time.Time `json:"at"`
	Kind fact.Kind `json:"kind"`
	Of   string    `json:"of,omitempty"`
	Text string    `json:"text"`
}

type entries struct {
	Items []entry `json:"items"`
	// Earlier is how many facts of the window are left out, as there are too many.
	Earlier int `json:"earlier,omitempty"`
}

// shownBody is how long a fact's body may be in one line.
const shownBody = 240

func (t tools) timeline(ctx context.Context, in window) (string, any, error) {
	from, to, err := in.span()
	if err != nil {
		return "", nil, err
	}
	all, err := t.behind(ctx, in.object)
	if err != nil {
		return "", nil, err
	}
	all = slices.DeleteFunc(all, func(f fact.Fact) bool {
		return f.At.Before(from) || !to.IsZero() && f.At.After(to)
	})
	slices.SortStableFunc(all, func(a, b fact.Fact) int { return a.At.Compare(b.At) })
	list := entries{Earlier: max(len(all)-mostFacts, 0)}
	var text strings.Builder
	if list.Earlier > 0 {
		fmt.Fprintf(&text, "(%d earlier; say to, or a narrower window)\n", list.Earlier)
	}
	for _, f := range all[list.Earlier:] {
		body, err := json.Marshal(f.Body)
		if err != nil {
			return "", nil, fmt.Errorf("writing fact %d: %w", f.ID, err)
		}
		e := entry{ID: f.ID, At: f.At, Kind: f.Body.Kind(), Of: f.Container, Text: cut(string(body))}
		list.Items = append(list.Items, e)
		fmt.Fprintf(&text, "%s #%d %s %s %s\n", e.At.Format(time.RFC3339Nano), e.ID, e.Kind, e.Of, e.Text)
	}
	return text.String(), list, nil
}

func cut(text string) string {
	if runes := []rune(text); len(runes) > shownBody {
		return string(runes[:shownBody]) + "…"
	}
	return text
}

func (w window) span() (from, to time.Time, err error) {
	for text, into := range map[string]*time.Time{w.From: &from, w.To: &to} {
		if text == "" {
			continue
		}
		if *into, err = time.Parse(time.RFC3339, text); err != nil {
			return from, to, fmt.Errorf("%q is not a time such as 2026-11-22T03:00:00Z", text)
		}
	}
	return from, to, nil
}

type which struct {
	object
	IDs   []uint64 `json:"ids,omitempty" jsonschema:"ids of facts, as a verdict's chain has them"`
	Kinds []string `json:"kinds,omitempty" jsonschema:"kinds of facts, such as Exited or OOMKilled"`
}

type factList struct {
	Items   []fact.Fact `json:"items"`
	Earlier int         `json:"earlier,omitempty"`
}

func (t tools) facts(ctx context.Context, in which) (string, any, error) {
	all, err := t.behind(ctx, in.object)
	if err != nil {
		return "", nil, err
	}
	all = slices.DeleteFunc(all, func(f fact.Fact) bool {
		return len(in.IDs) > 0 && !slices.Contains(in.IDs, uint64(f.ID)) || len(in.Kinds) > 0 && !slices.Contains(in.Kinds, string(f.Body.Kind()))
	})
	list := factList{Earlier: max(len(all)-mostFacts, 0)}
	list.Items = all[list.Earlier:]
	text, err := json.MarshalIndent(list, "", " ")
	return string(text), list, err
}
