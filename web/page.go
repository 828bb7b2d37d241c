package web

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"

	"whylet.dev/whylet/web/timeline"
	"whylet.dev/whylet/why/answer"
)

//go:embed dist/app.js
var script string

//go:embed dist/page.css
var style string

// page is the whole file: live, policy, title, style, title, text, data, script. The
// answer stands in it as text, too: for who reads it without its program, and for
// search. It is no html/template: with that in a program its linker keeps every exported
// method, and the client would be half as large again.
const page = `<!doctype html>
<html lang="en"%s>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>%s</title>
<style>%s</style>
</head>
<body>
<div id="page"><main><h1>%s</h1><pre>%s</pre></main></div>
<script type="application/json" id="data">%s</script>
<script>%s</script>
</body>
</html>
`

// Write writes a document as one HTML file that needs nothing else. The error is the
// writer's.
func Write(w io.Writer, d timeline.Document) error { return write(w, d, false) }

func write(w io.Writer, d timeline.Document, live bool) error {
	data, err := data(d)
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	follow := ""
	if live {
		follow = ` data-live="timeline.json"`
	}
	name := markup(title(d))
	// Style and script are our own, and the data is escaped above.
	_, err = fmt.Fprintf(w, page, follow, html.EscapeString(policy(live)), name, style, name, markup(text(d)), data, script)
	return err
}

// policy lets the page's own script and style run and nothing else; the page that is
// served may also ask for newer data where it came from.
func policy(live bool) string {
	p := fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'", hash(script), hash(style))
	if live {
		p += "; connect-src 'self'"
	}
	return p
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func title(d timeline.Document) string {
	name := d.Subject.Name
	if d.Subject.Namespace != "" {
		name = d.Subject.Namespace + "/" + name
	}
	t := strings.ToLower(d.Subject.Kind) + " " + name
	for _, r := range d.Rows {
		if r.Kind == answer.RowSubject {
			return t + " · " + r.Tag
		}
	}
	return t
}

// text is the answer without its program.
func text(d timeline.Document) string {
	var b strings.Builder
	for _, r := range d.Rows {
		if !r.At.IsZero() {
			b.WriteString(r.At.UTC().Format("2006-01-02 15:04:05.000Z  "))
		}
		for _, part := range []string{r.Title, r.Tag, r.Text} {
			if part != "" {
				b.WriteString(part + " ")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
