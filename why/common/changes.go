package common

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/why/answer"
)

// Change is something that one revision of a workload has otherwise than another one.
type Change struct {
	// Text says what, with its value where that is nobody's secret.
	Text string
	// fits are the causes that such a change may be behind.
	fits []answer.Cause
}

// The causes that a change may be behind. What runs can fail in any way of a process.
var (
	ofProcess = []answer.Cause{
		answer.AppExitError, answer.AppExitSuccess, answer.AppCrashSignal, answer.AppStartFailed, answer.AppSlowStart, answer.AppHang, answer.AppOverloaded,
		answer.AppUnhealthy, answer.AppNotListening, answer.AppListensElse, answer.MemoryLimit, answer.MemoryLimitChild,
		answer.ProbeWrongPort, answer.ProbeWrongPath, answer.ProbeWrongScheme, answer.ProbeCommandFailed, answer.ProbeProtocol, answer.InitFailed,
	}
	ofImage = append([]answer.Cause{answer.ImageNotFound, answer.ImageUnauthorized, answer.ImageRegistryUnreachable, answer.ImagePolicyNever}, ofProcess...)
	ofEnv   = append([]answer.Cause{answer.ConfigMissing, answer.DependencyDown}, ofProcess...)
	ofProbe = []answer.Cause{
		answer.ProbeWrongPort, answer.ProbeWrongPath, answer.ProbeWrongScheme, answer.ProbeTimeoutTooShort, answer.ProbeCommandFailed, answer.ProbePortNameUnknown,
		answer.ProbeProtocol, answer.AppSlowStart, answer.AppNotListening, answer.AppListensElse, answer.AppUnhealthy,
	}
	ofMemory   = []answer.Cause{answer.MemoryLimit, answer.MemoryLimitChild, answer.PodMemoryLimit, answer.MemoryThrottled, answer.EvictedMemory}
	ofCPU      = []answer.Cause{answer.CPUThrottled, answer.AppSlowStart, answer.AppOverloaded, answer.ProbeTimeoutTooShort}
	ofPorts    = []answer.Cause{answer.ProbePortNameUnknown, answer.ServicePortMismatch}
	ofVolumes  = []answer.Cause{answer.ConfigMissing, answer.VolumeFailed, answer.VolumeUnbound, answer.MemoryBackedVolume, answer.AppExitError, answer.AppStartFailed}
	ofSecurity = []answer.Cause{answer.SecurityRefused, answer.AppStartFailed, answer.AppExitError}
)

// Changes compares two templates of a workload.
func Changes(before, now *v1.PodTemplateSpec) []Change {
	was, is := before.Spec, now.Spec
	all := append(containers("init container", was.InitContainers, is.InitContainers), containers("container", was.Containers, is.Containers)...)
	add := func(what string, a, b any, fits []answer.Cause) {
		if !reflect.DeepEqual(a, b) {
			all = append(all, Change{what, fits})
		}
	}
	add("volumes", was.Volumes, is.Volumes, ofVolumes)
	add("security context", was.SecurityContext, is.SecurityContext, ofSecurity)
	add("service account", was.ServiceAccountName, is.ServiceAccountName, ofSecurity)
	add("image pull secrets", was.ImagePullSecrets, is.ImagePullSecrets, ofImage[:2])
	add("node selector or affinity", []any{was.NodeSelector, was.Affinity, was.Tolerations}, []any{is.NodeSelector, is.Affinity, is.Tolerations}, nil)
	add("annotations", before.Annotations, now.Annotations, nil)
	return all
}

func containers(kind string, before, now []v1.Container) []Change {
	var all []Change
	was := map[string]*v1.Container{}
	for i := range before {
		was[before[i].Name] = &before[i]
	}
	for i := range now {
		c := &now[i]
		if old := was[c.Name]; old == nil {
			all = append(all, Change{kind + " " + c.Name + " is new", ofProcess})
		} else {
			all = append(all, container(kind+" "+c.Name, old, c)...)
		}
		delete(was, c.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		all = append(all, Change{kind + " " + name + " is gone", ofProcess})
	}
	return all
}

// container compares two versions of one container. Values of variables and commands are
// not told: they may be secret.
func container(who string, was, is *v1.Container) []Change {
	var all []Change
	add := func(what string, a, b any, fits []answer.Cause) {
		if !reflect.DeepEqual(a, b) {
			all = append(all, Change{what + " of " + who, fits})
		}
	}
	if was.Image != is.Image {
		all = append(all, Change{fmt.Sprintf("image of %s (%s, before: %s)", who, is.Image, was.Image), ofImage})
	}
	add("command", []any{was.Command, was.Args, was.WorkingDir}, []any{is.Command, is.Args, is.WorkingDir}, ofProcess)
	if names := variables(was.Env, is.Env); len(names) > 0 {
		all = append(all, Change{fmt.Sprintf("environment of %s (%s)", who, strings.Join(names, ", ")), ofEnv})
	}
	add("environment", was.EnvFrom, is.EnvFrom, ofEnv)
	all = append(all, amounts("limit of "+who, was.Resources.Limits, is.Resources.Limits)...)
	all = append(all, amounts("request of "+who, was.Resources.Requests, is.Resources.Requests)...)
	add("liveness probe", was.LivenessProbe, is.LivenessProbe, ofProbe)
	add("readiness probe", was.ReadinessProbe, is.ReadinessProbe, ofProbe)
	add("startup probe", was.StartupProbe, is.StartupProbe, ofProbe)
	add("ports", was.Ports, is.Ports, ofPorts)
	add("volume mounts", was.VolumeMounts, is.VolumeMounts, ofVolumes)
	add("security context", was.SecurityContext, is.SecurityContext, ofSecurity)
	add("lifecycle hooks", was.Lifecycle, is.Lifecycle, []answer.Cause{answer.HookFailed})
	return all
}

// variables are the names of those that differ.
func variables(was, is []v1.EnvVar) []string {
	before, differ := map[string]v1.EnvVar{}, map[string]bool{}
	for _, e := range was {
		before[e.Name] = e
	}
	for _, e := range is {
		if old, ok := before[e.Name]; !ok || !reflect.DeepEqual(old, e) {
			differ[e.Name] = true
		}
		delete(before, e.Name)
	}
	for name := range before {
		differ[name] = true
	}
	return slices.Sorted(maps.Keys(differ))
}

func amounts(of string, was, is v1.ResourceList) []Change {
	names := slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(is))
	slices.Sort(names)
	var all []Change
	for _, name := range slices.Compact(names) {
		old, had := was[name]
		now, has := is[name]
		if had == has && old.Cmp(now) == 0 {
			continue
		}
		fits := map[v1.ResourceName][]answer.Cause{v1.ResourceMemory: ofMemory, v1.ResourceCPU: ofCPU}[name]
		if strings.HasPrefix(of, "request") {
			fits = append([]answer.Cause{answer.InsufficientResources}, fits...)
		}
		value := func(q resource.Quantity, there bool) string {
			if !there {
				return "none"
			}
			return q.String()
		}
		all = append(all, Change{fmt.Sprintf("%s %s (%s, before: %s)", name, of, value(now, has), value(old, had)), fits})
	}
	return all
}
