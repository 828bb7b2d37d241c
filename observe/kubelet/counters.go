package kubelet

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/reported"
)

// ProbeOf names one probe of a container.
type ProbeOf struct {
	UID                        types.UID
	Namespace, Name, Container string
	Kind                       fact.ProbeKind
}

// Count is how often kubelet made a probe, since its worker for it began.
type Count struct{ Successes, Failures, Unknowns int64 }

// counter is the metric of kubelet's page /metrics/probes that counts attempts
// (pkg/kubelet/prober/prober_manager.go).
const counter = "prober_probe_total{"

// ReadCounters reads that page. Lines of other metrics, and what is no such line, are
// left out.
func ReadCounters(page []byte) map[ProbeOf]Count {
	all := map[ProbeOf]Count{}
	lines := bufio.NewScanner(bytes.NewReader(page))
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), counter)
		if !ok {
			continue
		}
		labels, value, ok := readLabels(rest)
		number, err := strconv.ParseFloat(value, 64)
		kind, known := reported.Probes[labels["probe_type"]]
		if !ok || err != nil || !known || number < 0 || number > 1<<53 {
			continue
		}
		of := ProbeOf{types.UID(labels["pod_uid"]), labels["namespace"], labels["pod"], labels["container"], kind}
		c, n := all[of], int64(number)
		switch labels["result"] {
		case "successful":
			c.Successes += n
		case "failed":
			c.Failures += n
		case "unknown":
			c.Unknowns += n
		}
		all[of] = c
	}
	return all
}

// readLabels reads `a="b",c="d"} 12`; a time stamp may follow.
func readLabels(text string) (labels map[string]string, value string, ok bool) {
	labels = map[string]string{}
	for !strings.HasPrefix(text, "}") {
		name, rest, found := strings.Cut(strings.TrimPrefix(text, ","), "=")
		quoted, err := strconv.QuotedPrefix(rest)
		if !found || err != nil {
			return nil, "", false
		}
		if labels[name], err = strconv.Unquote(quoted); err != nil {
			return nil, "", false
		}
		text = rest[len(quoted):]
	}
	value, _, _ = strings.Cut(strings.TrimSpace(text[1:]), " ")
	return labels, value, true
}
