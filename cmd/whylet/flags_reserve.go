package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/node/pressure"
	"whylet.dev/whylet/node/shutdown"
)

// limits are the settings that bound pods, as amounts and times.
type limits struct {
	memory       int64 // in bytes; 0: all of the machine's
	eviction     []pressure.Threshold
	transition   time.Duration
	system, kube corev1.ResourceList
	shutdown     []shutdown.Period
}

// limits reads them; the error has all that is wrong.
func (s settings) limits() (l limits, _ error) {
	errs := make([]error, 6)
	l.memory, errs[0] = s.memory()
	l.eviction, errs[1] = s.eviction()
	l.transition, errs[2] = s.transition()
	l.system, errs[3] = reserved("--system-reserved", s.SystemReserved)
	l.kube, errs[4] = reserved("--kube-reserved", s.KubeReserved)
	l.shutdown, errs[5] = s.shutdown()
	return l, errors.Join(errs...)
}

// eviction says how much should be left on the node; nil: as the node thinks.
// The forms are those of kubelet's flags of the same names.
func (s settings) eviction() ([]pressure.Threshold, error) {
	if s.EvictionHard == "" && s.EvictionSoft == "" && s.EvictionSoftGrace == "" && s.EvictionReclaim == "" {
		return nil, nil
	}
	hard := pressure.Defaults()
	if s.EvictionHard != "" {
		var err error
		if hard, err = pressure.Parse(s.EvictionHard, 0); err != nil {
			return nil, fmt.Errorf("--eviction-hard: %w", err)
		}
	}
	soft, err := s.soft()
	if err != nil {
		return nil, err
	}
	all := append(hard, soft...)
	reclaims, err := pairs(s.EvictionReclaim)
	for name, amount := range reclaims {
		err = errors.Join(err, pressure.SetReclaim(all, pressure.Signal(name), amount))
	}
	if err != nil {
		return nil, fmt.Errorf("--eviction-minimum-reclaim: %w", err)
	}
	return all, nil
}

// soft reads the soft thresholds, each of which needs a grace period.
func (s settings) soft() ([]pressure.Threshold, error) {
	graces, err := pairs(s.EvictionSoftGrace)
	if err != nil {
		return nil, fmt.Errorf("--eviction-soft-grace-period: %w", err)
	}
	if s.EvictionSoft == "" {
		if len(graces) > 0 {
			return nil, errors.New("--eviction-soft-grace-period is for --eviction-soft, which was not given")
		}
		return nil, nil
	}
	soft, err := pressure.Parse(s.EvictionSoft, 0)
	if err != nil {
		return nil, fmt.Errorf("--eviction-soft: %w", err)
	}
	for i := range soft {
		name := string(soft[i].Signal)
		grace, ok := graces[name]
		if !ok {
			return nil, fmt.Errorf("--eviction-soft: %s needs a grace period: --eviction-soft-grace-period %s=90s", name, name)
		}
		if soft[i].Grace, err = time.ParseDuration(grace); err != nil || soft[i].Grace <= 0 {
			return nil, fmt.Errorf("--eviction-soft-grace-period: %s=%q is not a time such as 90s", name, grace)
		}
		delete(graces, name)
	}
	for name := range graces {
		return nil, fmt.Errorf("--eviction-soft-grace-period: there is no threshold of %s in --eviction-soft", name)
	}
	return soft, nil
}

// shutdown reads how long pods have to end before the machine shuts down; none: they end with it.
func (s settings) shutdown() ([]shutdown.Period, error) {
	if s.ShutdownGraceByPriority != "" {
		if s.ShutdownGrace != "" || s.ShutdownGraceCritical != "" {
			return nil, errors.New("--shutdown-grace-period-by-pod-priority takes the place of --shutdown-grace-period and --shutdown-grace-period-critical-pods; give one or the other (an empty value takes an earlier one back)")
		}
		periods, err := shutdown.ParsePeriods(s.ShutdownGraceByPriority)
		if err != nil {
			return nil, fmt.Errorf("--shutdown-grace-period-by-pod-priority: %w", err)
		}
		return periods, nil
	}
	var times [2]time.Duration
	for i, text := range []string{s.ShutdownGrace, s.ShutdownGraceCritical} {
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("%s %q is not a time such as 60s", []string{"--shutdown-grace-period", "--shutdown-grace-period-critical-pods"}[i], text)
		}
		times[i] = d
	}
	periods, err := shutdown.Periods(times[0], times[1])
	if err != nil {
		return nil, fmt.Errorf("--shutdown-grace-period: %w", err)
	}
	return periods, nil
}

// transition is how long a pressure goes on after it was last seen; 0: as the
// node thinks.
func (s settings) transition() (time.Duration, error) {
	if s.EvictionTransition == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s.EvictionTransition)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("--eviction-pressure-transition-period %q is not a time such as 5m", s.EvictionTransition)
	}
	return d, nil
}

// reservable is what can be kept from pods.
var reservable = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}

// reserved reads a list such as cpu=200m,memory=500Mi.
func reserved(flag, text string) (corev1.ResourceList, error) {
	all, err := pairs(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	list := corev1.ResourceList{}
	for name, amount := range all {
		if !slices.Contains(reservable, corev1.ResourceName(name)) {
			return nil, fmt.Errorf("%s: %q cannot be kept back; cpu, memory and ephemeral-storage can", flag, name)
		}
		q, err := resource.ParseQuantity(amount)
		if err != nil || q.Sign() < 0 {
			return nil, fmt.Errorf("%s: %s=%q is not an amount such as 500Mi", flag, name, amount)
		}
		list[corev1.ResourceName(name)] = q
	}
	return list, nil
}

// pairs reads name=value,name=value.
func pairs(text string) (map[string]string, error) {
	all := map[string]string{}
	if text == "" {
		return all, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(one), "=")
		if _, again := all[name]; !ok || name == "" || again {
			return nil, fmt.Errorf("%q is not of the form name=value, each name once", one)
		}
		all[name] = value
	}
	return all, nil
}
