package command

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/paint"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/web"
	"whylet.dev/whylet/web/timeline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/prose"
)

// page writes or serves the answer about one thing as a page.
func (o *options) page(ctx context.Context, from ask.Asker, targets []ask.Target) error {
	h, ok := from.(ask.Historian)
	if !ok || len(targets) != 1 {
		return exit.UsageError("-o html and --web show one thing; name it as KIND/NAME")
	}
	if !o.web {
		d, explained, err := o.document(ctx, from, h, targets[0])
		if err == nil {
			err = web.Write(paint.Raw(o.Out), d)
		}
		if err == nil && !explained {
			return exit.Silent(exit.Unknown)
		}
		return err
	}
	again := func(ctx context.Context) (timeline.Document, error) {
		d, _, err := o.document(ctx, from, h, targets[0])
		return d, err
	}
	return web.Serve(ctx, again, func(url string) {
		fmt.Fprintf(o.Out, "%s\n", url)
		fmt.Fprintln(o.Err, "Ctrl-C ends it")
		o.open(ctx, url)
	})
}

// document asks, and fetches the facts behind the answer. Facts that cannot be had leave
// a page with less on it; the answer stands. It says whether all has a cause, too.
func (o *options) document(ctx context.Context, from ask.Asker, h ask.Historian, t ask.Target) (d timeline.Document, explained bool, err error) {
	answers, err := from.About(ctx, t)
	if len(answers) == 0 {
		return d, false, err
	}
	o.told(err)
	a := answers[0]
	found, err := h.Behind(ctx, a)
	o.told(err)
	var parts []timeline.PodInput
	for _, p := range found {
		if p.Source == nil {
			continue
		}
		of := prose.Whether(p.Question.Node, web.Node, web.Pod)
		part, err := of(p.Source, p.Question, p.Node)
		if err != nil {
			return d, false, err
		}
		parts = append(parts, part)
	}
	return web.Of(a, o.command(a), parts...), a.Explained(), nil
}

// told says what is missing, once: a page that is followed asks again and again.
func (o *options) told(err error) {
	if err != nil && err.Error() != o.missing {
		fmt.Fprintf(o.Err, "note: %v\n", err)
		o.missing = err.Error()
	}
}

// command asks for the same again.
func (o *options) command(a answer.Answer) string {
	line := shell.Linef("kubectl why %s", strings.ToLower(a.Subject.Kind)+"/"+a.Subject.Name)
	if a.Subject.Namespace != "" {
		line += shell.Linef(" -n %s", a.Subject.Namespace)
	}
	if of := o.askedOf(); of != "" {
		line += shell.Linef(" %s", shell.Line(of))
	}
	return string(line)
}

// open has the desktop open the page, where a person sits before one; else the address
// that was printed has to do.
func (o *options) open(ctx context.Context, url string) {
	if !paint.Terminal(o.Out) {
		return
	}
	for _, name := range []string{"xdg-open", "open"} {
		if path, err := exec.LookPath(name); err == nil {
			_ = exec.CommandContext(ctx, path, url).Start() // the address stands there
			return
		}
	}
}
