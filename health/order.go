package health

import "slices"

// endingOrder is main containers first, then init containers backwards, then
// the ephemeral ones.
func (p *pod) endingOrder() []*container {
	inits := p.each(initial, sidecar)
	slices.Reverse(inits)
	return slices.Concat(p.each(regular), inits, p.each(ephemeral))
}

// turnToEnd says whether a container of a pod that ends may be told to: sidecars
// wait for the main containers and for the sidecars that were started after
// them, but not longer than the grace period
// (kuberuntime/kuberuntime_termination_order.go).
func (t *turn) turnToEnd(c *container) bool {
	if c.Role != sidecar || !t.now.Before(t.Ending.Until) {
		return true
	}
	if t.anyAlive(regular) {
		return false
	}
	for _, later := range slices.Backward(t.each(sidecar)) {
		if later == c {
			return true
		}
		if later.alive() {
			return false
		}
	}
	return true
}
