// Package fromapi makes the history of a pod from what the API server shows of it: its status,
// its events, the last lines of its logs, when its ConfigMaps were changed. The rules of
// package why then explain it as they explain a journal; a cluster without agents gets the same
// causes and the same steps.
//
// The API shows little, and part of it lasts an hour. A status is above events, and an event
// counts only with the run that it belongs to. An event that is not there proves nothing,
// unless one that would have been dropped with it is there.
//
//	tell.go     Seen: what the API server shows of a pod, and Explain; facts in the order of their times, and what kubelet
//	            decided by them
//	runs.go     starts, ends and waits of containers
//	events.go   events: which run each belongs to, and when the absence of one says something
//	status.go   the status as it was at earlier times
//	gone.go     a pod that does not exist any more
//	config.go   which ConfigMaps a pod reads
package fromapi
