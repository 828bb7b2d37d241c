package health

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

type resizing struct{}

func (t *turn) resized(*container, fact.Resized)           {}
func (t *turn) resizeFailed(*container, fact.ResizeFailed) {}
func (t *turn) planResizes()                               {}
func (t *turn) resizeConditions() []v1.PodCondition        { return nil }
func (p *pod) resizeDeadlines(func(time.Time))             {}
