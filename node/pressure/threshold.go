package pressure

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Threshold says how much should be left of something.
type Threshold struct {
	Signal Signal
	// Quantity is the least amount; where it is zero, Part of the capacity is.
	Quantity resource.Quantity
	Part     float64
	// Grace is how long it may be exceeded before pods go (a soft threshold), 0:
	// they go at once (a hard one).
	Grace time.Duration
	// Reclaim is how much more than that there must be, once pods go for it, before
	// no more go; ReclaimPart the same as part of the capacity.
	Reclaim     resource.Quantity
	ReclaimPart float64
}

// Hard says that pods go at once, with no time to end in an orderly way.
func (t Threshold) Hard() bool { return t.Grace == 0 }

// Amount is the threshold for something that large.
func (t Threshold) Amount(capacity int64) *resource.Quantity {
	return amount(t.Quantity, t.Part, capacity)
}

func amount(quantity resource.Quantity, part float64, capacity int64) *resource.Quantity {
	if part > 0 {
		return resource.NewQuantity(int64(float64(capacity)*part), resource.BinarySI)
	}
	q := quantity.DeepCopy()
	return &q
}

// met says whether less is left than should be.
func (t Threshold) met(r Reading) bool { return t.Amount(r.Capacity).Value() > r.Available }

// relieved says whether there is enough again after something was done about it.
func (t Threshold) relieved(r Reading) bool {
	return t.Amount(r.Capacity).Value()+amount(t.Reclaim, t.ReclaimPart, r.Capacity).Value() <= r.Available
}

// Default are kubelet's hard thresholds (pkg/kubelet/eviction/defaults_linux.go),
// and one for process ids.
const Default = "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%," +
	"imagefs.available<15%,imagefs.inodesFree<5%,pid.available<10%"

// Parse reads thresholds as kubelet's --eviction-hard has them: signal<amount,
// where the amount is a quantity or a percentage, several with commas between.
// Each gets the same grace period.
func Parse(text string, grace time.Duration) ([]Threshold, error) {
	var all []Threshold
	for one := range strings.SplitSeq(text, ",") {
		name, amount, ok := strings.Cut(strings.TrimSpace(one), "<")
		if !ok {
			return nil, fmt.Errorf("%q is not of the form signal<amount, such as memory.available<100Mi", one)
		}
		t := Threshold{Signal: Signal(name), Grace: grace}
		if _, known := meanings[t.Signal]; !known || t.Signal == AllocatableMemory {
			return nil, fmt.Errorf(unknownSignalError, name)
		}
		var err error
		if t.Quantity, t.Part, err = parse(amount); err != nil {
			return nil, fmt.Errorf("threshold of %s: %w", name, err)
		}
		all = append(all, t)
	}
	return all, nil
}

// SetReclaim reads a minimum reclaim, in the form of a threshold's amount, for all
// thresholds of a signal.
func SetReclaim(all []Threshold, s Signal, amount string) error {
	quantity, part, err := parse(amount)
	if err != nil {
		return err
	}
	found := false
	for i := range all {
		if all[i].Signal == s {
			all[i].Reclaim, all[i].ReclaimPart, found = quantity, part, true
		}
	}
	if !found {
		return fmt.Errorf("there is no threshold of %s", s)
	}
	return nil
}

func parse(amount string) (resource.Quantity, float64, error) {
	if percent, ok := strings.CutSuffix(amount, "%"); ok {
		n, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(n >= 0 && n < 100) {
			return resource.Quantity{}, 0, fmt.Errorf("%q is not a percentage below 100", amount)
		}
		return resource.Quantity{}, n / 100, nil
	}
	q, err := resource.ParseQuantity(amount)
	if err != nil || q.Sign() < 0 {
		return resource.Quantity{}, 0, fmt.Errorf("%q is neither an amount such as 100Mi nor a percentage", amount)
	}
	return q, 0, nil
}

// Defaults are the thresholds of a node that was told nothing.
func Defaults() []Threshold {
	all, err := Parse(Default, 0)
	if err != nil {
		panic(err) // A constant of this file, which its test reads.
	}
	return all
}

// withAllocatable adds the threshold of the pods' own limit, which is that of the
// node's memory (kubelet: helpers.go, addAllocatableThresholds).
func withAllocatable(all []Threshold) []Threshold {
	for _, t := range all {
		if t.Signal == MemoryAvailable && t.Hard() {
			t.Signal = AllocatableMemory
			return append([]Threshold{t}, all...)
		}
	}
	return all
}

// Of finds the hard threshold of a signal.
func Of(all []Threshold, s Signal) (Threshold, bool) {
	for _, t := range all {
		if t.Signal == s && t.Hard() {
			return t, true
		}
	}
	return Threshold{}, false
}
