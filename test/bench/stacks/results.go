package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// result is one measured number.
type result struct {
	what, unit string
	value      float64
}

type results []result

func (r results) find(what string) (result, bool) {
	i := slices.IndexFunc(r, func(x result) bool { return x.what == what })
	if i < 0 {
		return result{}, false
	}
	return r[i], true
}

// rows puts both sides beside each other, with ours as a part of the real one.
func rows(real, ours results, each func(what, unit, real, ours, ratio string)) {
	for _, r := range real {
		o, ok := ours.find(r.what)
		if !ok {
			each(r.what, r.unit, number(r.value), "", "")
			continue
		}
		ratio := ""
		if r.value > 0 {
			ratio = fmt.Sprintf("%.2f", o.value/r.value)
		}
		each(r.what, r.unit, number(r.value), number(o.value), ratio)
	}
	for _, o := range ours {
		if _, ok := real.find(o.what); !ok {
			each(o.what, o.unit, "", number(o.value), "")
		}
	}
}

func number(v float64) string {
	if v < 20 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func printTable(out io.Writer, real, ours results) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "kubelet\twhylet\tratio\tunit\t")
	rows(real, ours, func(what, unit, real, ours, ratio string) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t  %s\n", real, ours, ratio, unit, what)
	})
	w.Flush()
}

func printMarkdown(out io.Writer, real, ours results) {
	fmt.Fprintln(out, "| | unit | kubelet | Whylet | ratio |\n|---|---|---:|---:|---:|")
	rows(real, ours, func(what, unit, real, ours, ratio string) {
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", what, unit, real, ours, ratio)
	})
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(all []time.Duration) time.Duration { return quantile(all, 0.5) }

// quantile is the value that a share q of all are at most.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(int(float64(len(sorted))*q), len(sorted)-1)]
}
