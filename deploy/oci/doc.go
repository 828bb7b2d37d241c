// Package oci makes images of programs without a registry and without a tool of
// containers: an archive with an OCI layout, for several architectures, that whylet
// image load, containerd, podman, CRI-O, skopeo and docker take. The same programs give
// the same bytes.
//
//	image.go    one image for one architecture
//	archive.go  the archive of images
//	docker.go   what older dockers look for in one
package oci
