// Package compare holds what was measured on Whylet and on the real stack, and
// prints the two beside each other.
package compare

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Result is one measured number.
type Result struct {
	What, Unit string
	Value      float64
}

// Results are those of one side, in the order in which they are printed.
type Results []Result

// Add adds a number.
func (r *Results) Add(what, unit string, value float64) {
	*r = append(*r, Result{what, unit, value})
}

// AddTimes adds the median and the 99th percentile.
func (r *Results) AddTimes(what string, all []time.Duration) {
	r.Add(what+", median", "ms", Milliseconds(Median(all)))
	r.Add(what+", p99", "ms", Milliseconds(Quantile(all, 0.99)))
}

func (r Results) find(what string) (Result, bool) {
	i := slices.IndexFunc(r, func(x Result) bool { return x.What == what })
	if i < 0 {
		return Result{}, false
	}
	return r[i], true
}

// rows puts both sides beside each other, with ours as a part of the real one.
func rows(real, ours Results, each func(what, unit, real, ours, ratio string)) {
	for _, r := range real {
		o, ok := ours.find(r.What)
		if !ok {
			each(r.What, r.Unit, number(r.Value), "", "")
			continue
		}
		ratio := ""
		if r.Value > 0 {
			ratio = fmt.Sprintf("%.2f", o.Value/r.Value)
		}
		each(r.What, r.Unit, number(r.Value), number(o.Value), ratio)
	}
	for _, o := range ours {
		if _, ok := real.find(o.What); !ok {
			each(o.What, o.Unit, "", number(o.Value), "")
		}
	}
}

func number(v float64) string {
	if v < 20 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// Table prints both sides for a terminal, Markdown for a page.
func Table(out io.Writer, real, ours Results) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "kubelet\twhylet\tratio\tunit\t")
	rows(real, ours, func(what, unit, real, ours, ratio string) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t  %s\n", real, ours, ratio, unit, what)
	})
	w.Flush()
}

// Markdown is Table in Markdown.
func Markdown(out io.Writer, real, ours Results) {
	fmt.Fprintln(out, "| | unit | kubelet | Whylet | ratio |\n|---|---|---:|---:|---:|")
	rows(real, ours, func(what, unit, real, ours, ratio string) {
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", what, unit, real, ours, ratio)
	})
}

// Milliseconds is a time as a number for Add.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Median is the middle one; 0 of none.
func Median(all []time.Duration) time.Duration { return Quantile(all, 0.5) }

// Quantile is the value that a share q of all are at most; 0 of none.
func Quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(int(float64(len(sorted))*q), len(sorted)-1)]
}
