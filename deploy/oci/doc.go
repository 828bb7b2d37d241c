// Package oci makes images of programs without a registry and without a tool of
// containers: an archive with an OCI layout, for several architectures, that whylet
// image load, containerd, CRI-O and skopeo take. The same programs give the same bytes.
//
//	image.go    one image for one architecture
//	archive.go  the archive of images
package oci
