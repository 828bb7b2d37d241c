package words

import "strings"

// The scheduler's words are made for people, and there is nothing else: "0/3 nodes are
// available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector."
// (kube-scheduler 1.36, framework/types.go, FitError; each plugin has its own.)
var (
	// VolumeElsewhere has the second words in older schedulers.
	VolumeElsewhere = says("kube-scheduler 1.36, plugins/volumebinding, ErrReasonNodeConflict",
		[]string{"persistentvolume's node affinity", "volume node affinity conflict"},
		"0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity.", "0/2 nodes are available: 2 node(s) had volume node affinity conflict.")
	ClaimWaits = says("kube-scheduler 1.36, plugins/volumebinding; scheduler/util",
		[]string{"persistentvolumeclaim", "unbound immediate", "didn't find available persistent volumes", "storageclass"},
		`0/1 nodes are available: persistentvolumeclaim "data" not found.`,
		"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
		"0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind.",
		`0/1 nodes are available: storageclass.storage.k8s.io "fast" not found.`)
	NoRoom = says("kube-scheduler 1.36, plugins/noderesources/fit.go",
		[]string{"insufficient", "too many pods"},
		"0/1 nodes are available: 1 Insufficient cpu.", "0/1 nodes are available: 1 Too many pods.")
	PortTaken = says("kube-scheduler 1.36, plugins/nodeports",
		[]string{"free ports"},
		"0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.")
	Cordoned = says("kube-scheduler 1.36, plugins/nodeunschedulable",
		[]string{"were unschedulable"},
		"0/1 nodes are available: 1 node(s) were unschedulable.")
	Tainted = says("kube-scheduler 1.36, plugins/tainttoleration",
		[]string{"taint"},
		"0/1 nodes are available: 1 node(s) had untolerated taint(s).")
	LabelsDiffer = says("kube-scheduler 1.36, plugins/nodeaffinity and interpodaffinity",
		[]string{"affinity", "selector"},
		"0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.")
	NodesDiffer = says("kube-scheduler 1.36, plugins/podtopologyspread and nodename",
		[]string{"unschedulable", "didn't match", "topology spread"},
		"0/1 nodes are available: 1 node(s) were unschedulable.", "0/1 nodes are available: 1 node(s) didn't match the requested node name.",
		"0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints.")
)

// Scheduler drops what the scheduler adds about preemption, which could not help either.
func Scheduler(message string) string {
	message, _, _ = strings.Cut(message, " no new claims to deallocate")
	message, _, _ = strings.Cut(message, " preemption:")
	return message
}
