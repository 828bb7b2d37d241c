// Package images sees to it that the images of containers are on the node, and
// that those nobody uses do not fill its disk.
//
//	images.go       Manager and what it is made from
//	ensure.go       Ensure: one attempt to have an image, by its pull policy
//	name.go         image names, default tags, default policy
//	credentials.go  pull secrets, and who may use what is already there
//	failure.go      failures in kubelet's reasons and words
//	list.go         what is on the node
//	gc.go           Collect: unused images, by the fullness of the disk
//	victims.go      which ones, in which order: the pure part of it
//
// The rules are those of kubelet v1.37 (pkg/kubelet/images). Back-off is not in
// here: each call of Ensure is one attempt, and package health decides when the
// next one is due.
package images
