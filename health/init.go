package health

import (
	"slices"
)

// planInit starts init containers in their order and keeps sidecars running. It
// says whether the others may start.
//
// It re-expresses kuberuntime/kuberuntime_container.go,
// computeInitContainerActions: the init container that was begun last decides.
// When it has passed, the next one follows; those before it are done, and only
// sidecars among them are started again. While a main container runs, all of
// them are done.
func (t *turn) planInit() (initialized bool) {
	inits := t.each(initial, sidecar)
	if len(inits) == 0 {
		return true
	}
	initialized = t.anyAlive(regular)
	reached := len(inits)
	if !initialized {
		reached = lastBegun(inits)
	}
	for i, c := range inits {
		switch {
		case i < reached:
			t.startIf(c, c.Role == sidecar)
		case i == reached && t.passed(c):
			reached = min(reached+1, len(inits)) // the next one in this same round
			initialized = reached == len(inits)
		case i == reached:
			t.startIf(c, !c.Begun || c.Stage == idle || t.again(c))
			return false
		}
	}
	return initialized
}

// lastBegun gives the place of the last init container that was begun in this
// sandbox, the first if none was.
func lastBegun(inits []*container) int {
	for i, c := range slices.Backward(inits) {
		if c.Begun || c.alive() {
			return i
		}
	}
	return 0
}

// passed says that what comes after this init container may begin: it has done
// its work, or it is a sidecar that has started up.
func (t *turn) passed(c *container) bool {
	if c.Role == sidecar {
		return t.hasStarted(c)
	}
	return c.Begun && c.Stage == ended && c.Run.Ended.ExitCode == 0
}

// failedForGood gives an init container that failed and will not be tried
// again, nil if there is none: the pod fails with it.
func (t *turn) failedForGood() *container {
	for _, c := range t.each(initial) {
		if c.Begun && c.Stage == ended && c.Run.Ended.ExitCode != 0 && !t.again(c) {
			return c
		}
	}
	return nil
}
