package cri

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// uidOfLogDir takes the pod's UID from the name of its log folder. Neither
// namespaces nor pod names hold an underscore, so the last part is the UID.
func uidOfLogDir(name string) types.UID {
	parts := strings.Split(name, "_")
	return types.UID(parts[len(parts)-1])
}
