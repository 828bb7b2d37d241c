package why

import (
	"fmt"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// gpuErrorWithin is how long before an end an error of a GPU is shown beside it.
const gpuErrorWithin = time.Minute

// noteGPUError adds to the verdict on an end the last error of a GPU that the driver reported
// for a process of that run. It changes no cause: programs cause some Xids, and survive others.
func (e ending) noteGPUError(v *answer.Verdict) {
	all := fact.All[fact.GPUError](e.h.Facts)
	for _, f := range slices.Backward(all) {
		before := e.at.Sub(f.When())
		if f.Container != e.run.Container || f.Attempt != e.run.Attempt || before < -time.Second || before > gpuErrorWithin {
			continue
		}
		b := fact.Of[fact.GPUError](f)
		v.Contributing = append(v.Contributing, answer.Note{
			Cause: v.Cause, Facts: []fact.ID{f.ID},
			Text: fmt.Sprintf("its GPU %s reported Xid %d %s before: %s", b.Device, b.Code, prose.Span(max(before, 0)), prose.Brief(b.Message, kept)),
		})
		return
	}
}
