package health

import (
	v1 "k8s.io/api/core/v1"
)

type restartAll struct{}

func (t *turn) restartingAll() bool                          { return false }
func (t *turn) planRestartAll()                              {}
func (t *turn) restartingCondition() (v1.PodCondition, bool) { return v1.PodCondition{}, false }
