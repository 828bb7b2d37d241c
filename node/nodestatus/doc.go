// Package nodestatus says how the node is: what of its Node object comes from the
// runtime, the journal, the export of facts and the pressures.
//
//	nodestatus.go  Status, also while the runtime is away
//	export.go      whether the collector takes the facts
package nodestatus
