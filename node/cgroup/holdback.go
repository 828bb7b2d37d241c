package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// leastMore and mostMore bound what a pod that is held back may still grow, in
	// bytes: a limit at its very usage could not be set while it grows.
	leastMore = 1 << 20
	mostMore  = 32 << 20
)

// HoldBack keeps a pod that has to go from using more than half of the memory
// that is left to all pods: the rest is for others. On version 2 it is slowed
// down (memory.high); on version 1, which cannot do that, it runs into a limit of
// its own and not, with its neighbours, into that of all pods. There is no way
// back, and a pod that is gone is no error.
func (m *Manager) HoldBack(uid types.UID) error {
	group, ok := m.podGroup(uid)
	if !ok {
		return nil
	}
	file := "memory.limit_in_bytes"
	if group.V2 {
		file = "memory.high"
	}
	more := int64(mostMore)
	if all, err := m.Node().Read(); err == nil && all.MemoryLimit > 0 {
		more = min(max((all.MemoryLimit-all.MemoryCurrent)/2, leastMore), mostMore)
	}
	for attempt := 0; ; attempt++ {
		now, err := group.Read()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		limit := now.MemoryCurrent + more
		if now.MemoryLimit > 0 && limit >= now.MemoryLimit {
			return nil
		}
		err = cgroups.WriteFile(group.Main(), file, strconv.FormatInt(limit, 10))
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.Is(err, unix.EBUSY) && attempt < 8:
			more *= 2 // it has grown beyond that meanwhile
		default:
			return fmt.Errorf("memory of pod %s: %w", uid, err)
		}
	}
}
