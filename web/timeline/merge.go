package timeline

import (
	"cmp"
	"fmt"
	"slices"

	"whylet.dev/whylet/fact"
)

// A lane of a page about one pod has at most about mostMarks marks, and a curve mostPoints
// points: a screen is not wider, and who wants more asks about less time.
const (
	mostMarks  = 700
	mostPoints = 1600
)

// likeness is what marks that become one have in common.
type likeness struct {
	slot  int64
	shape Shape
	tone  Tone
	label string
}

// thin makes fewer marks of many: those that look alike and lie in one slot of time
// become one that counts them. Slots grow until few enough are left. What the answer
// names stays as it is.
func thin(marks []Mark, keep map[fact.ID]bool, most int) []Mark {
	if len(marks) <= most {
		return marks
	}
	from, until := marks[0].At, marks[0].At
	for _, m := range marks {
		until = max(until, m.At)
	}
	for slot := max(1, (until-from)/int64(most)); ; slot *= 2 {
		some := merged(marks, keep, slot)
		if len(some) <= most || slot > until-from {
			return some
		}
	}
}

func merged(marks []Mark, keep map[fact.ID]bool, slot int64) []Mark {
	var out []Mark
	at := map[likeness]int{}
	for _, m := range marks {
		if m.Open || named(m, keep) {
			out = append(out, m)
			continue
		}
		like := likeness{m.At / slot, m.Shape, m.Tone, m.Label}
		if m.Shape == Band {
			like.shape = Tick
		}
		i, known := at[like]
		if !known {
			at[like] = len(out)
			m.Facts = slices.Clone(m.Facts)
			out = append(out, m)
			continue
		}
		out[i] = join(out[i], m)
	}
	slices.SortStableFunc(out, func(x, y Mark) int { return cmp.Compare(x.At, y.At) })
	return out
}

func named(m Mark, keep map[fact.ID]bool) bool {
	return slices.ContainsFunc(m.Facts, func(id fact.ID) bool { return keep[id] })
}

// join makes one mark of two that look alike.
func join(a, b Mark) Mark {
	a.Until = max(a.At, a.Until, b.At, b.Until)
	a.Count = max(a.Count, 1) + max(b.Count, 1)
	a.Value = max(a.Value, b.Value)
	a.Facts = append(a.Facts, b.Facts...)
	a.Text = fmt.Sprintf("%d alike", a.Count)
	if a.Shape == Tick {
		a.Shape = Band
	}
	if len(b.Latency) > len(a.Latency) {
		a.Latency, b.Latency = slices.Clone(b.Latency), a.Latency
	} else {
		a.Latency = slices.Clone(a.Latency)
	}
	for i, n := range b.Latency {
		a.Latency[i] += n
	}
	return a
}

// thinPoints leaves of every slot of time the least and the greatest value, so that no
// peak is lost.
func thinPoints(points []Point, keep map[fact.ID]bool, most int) []Point {
	if len(points) <= most {
		return points
	}
	slot := max(1, (points[len(points)-1].At-points[0].At)/int64(most/4))
	var out []Point
	for i := 0; i < len(points); {
		j, least, greatest := i, i, i
		for ; j < len(points) && points[j].At/slot == points[i].At/slot; j++ {
			if points[j].Value < points[least].Value {
				least = j
			}
			if points[j].Value > points[greatest].Value {
				greatest = j
			}
		}
		broken := false
		for k := i; k < j; k++ {
			broken = broken || points[k].Break
			if p := points[k]; k == least || k == greatest || keep[p.Fact] {
				p.Break = broken
				broken = false
				out = append(out, p)
			}
		}
		i = j
	}
	return out
}
