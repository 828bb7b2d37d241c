package common

import (
	"math"

	"whylet.dev/whylet/why/answer"
)

// stratum are pods that differ in nothing that is known but in that they have something
// (with) or have it not.
type stratum struct{ with, without answer.Tally }

// tells says whether anything can be compared in it.
func (s stratum) tells() bool { return s.with.All > 0 && s.without.All > 0 }

// chance is how likely it is that at least as many of the pods that fail have it, if it had
// nothing to do with failing: Fisher's exact test, each stratum apart.
func chance(strata []stratum) float64 {
	sum := []float64{1} // the distribution of how many of those that fail have it
	seen := 0
	for _, s := range strata {
		if !s.tells() {
			continue
		}
		seen += s.with.Failing
		one := hypergeometric(s)
		next := make([]float64, len(sum)+len(one)-1)
		for i, p := range sum {
			for j, q := range one {
				next[i+j] += p * q
			}
		}
		sum = next
	}
	p := 0.0
	for _, q := range sum[min(seen, len(sum)):] {
		p += q
	}
	return min(p, 1)
}

// hypergeometric is the distribution of how many of the failing pods of a stratum have it.
func hypergeometric(s stratum) []float64 {
	n, failing := s.with.All+s.without.All, s.with.Failing+s.without.Failing
	all := make([]float64, min(failing, s.with.All)+1)
	for x := range all {
		if rest := s.with.All - x; rest <= n-failing {
			all[x] = math.Exp(choose(failing, x) + choose(n-failing, rest) - choose(n, s.with.All))
		}
	}
	return all
}

// choose is the logarithm of a binomial coefficient.
func choose(n, k int) float64 {
	lg := func(n int) float64 {
		v, _ := math.Lgamma(float64(n + 1))
		return v
	}
	return lg(n) - lg(k) - lg(n-k)
}
