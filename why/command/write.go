package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/paint"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/serve"
)

// formats are what -o knows.
var formats = []string{"text", "wide", "json", "yaml", "markdown", "junit", "html"}

// write prints the answers: one of them as an Answer, several as a list.
func (o *options) write(answers []answer.Answer, list bool) error {
	if flags := o.askedOf(); flags != "" {
		for i := range answers {
			kubectl.Against(&answers[i], flags)
		}
	}
	switch o.output {
	case "text", "wide":
		return o.writeText(answers)
	case "markdown":
		_, err := fmt.Fprint(o.Out, answer.Markdown(answers))
		return err
	case "junit":
		text, err := answer.JUnit(answers)
		if err == nil {
			_, err = fmt.Fprint(o.Out, text)
		}
		return err
	}
	if !list {
		return o.writeData(answers[0])
	}
	return o.writeData(serve.NewList(answers))
}

// askedOf are the flags that name what is asked in place of a cluster.
func (o *options) askedOf() string {
	switch {
	case o.dump != "":
		return shell.Quote("--dump", o.dump)
	case o.history != "":
		return shell.Quote("--file", o.history)
	case o.dataDir != "":
		return shell.Quote("--data-dir", o.dataDir)
	}
	return ""
}

// writeData prints a body as JSON or YAML.
func (o *options) writeData(body any) error {
	text, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	if o.output == "yaml" {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return fmt.Errorf("writing the answer: %w", err)
		}
	}
	_, err = fmt.Fprintln(o.Out, strings.TrimRight(string(text), "\n"))
	return err
}

// colours are those of what a [answer.Style] paints.
var colours = map[string]string{"bad": paint.Red, "good": paint.Green, "cause": paint.Bold, "dim": paint.Dim}

func (o *options) style() answer.Style {
	return answer.Style{
		Wide: o.output == "wide", Zone: time.Local,
		Paint: func(what, text string) string { return paint.Text(o.Out, colours[what], text) },
	}
}

func (o *options) writeText(answers []answer.Answer) error {
	if o.all {
		_, err := fmt.Fprint(o.Out, answer.Overview(answers, o.style()))
		return err
	}
	for i := range answers {
		if i > 0 {
			fmt.Fprintln(o.Out)
		}
		if _, err := fmt.Fprint(o.Out, answers[i].Text(o.style())); err != nil {
			return err
		}
	}
	return nil
}
