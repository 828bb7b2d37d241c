package cluster

import (
	"runtime/debug"
	"strconv"
	"strings"
	_ "unsafe" // for go:linkname

	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/version"
)

// Kubernetes' build sets these three by -ldflags. A binary built without them
// would call itself v0.0.0-master+$Format:%H$, which kubectl and Helm cannot
// parse, and which SetDynamicVersion may not move away from 0.0.0. So they are
// reached by name, and filled from what is certain: the version of the module
// that is linked in, or, in a test binary, which does not say, the minor version
// that the code itself states. Values that -ldflags did set are left alone.
//
//go:linkname gitVersion k8s.io/component-base/version.gitVersion
//go:linkname gitMajor k8s.io/component-base/version.gitMajor
//go:linkname gitMinor k8s.io/component-base/version.gitMinor
var gitVersion, gitMajor, gitMinor string

func init() {
	if !strings.HasPrefix(gitVersion, "v0.0.0-") {
		return
	}
	linked := moduleVersion("k8s.io/kubernetes")
	parsed, err := utilversion.ParseSemantic(linked)
	if err != nil {
		linked = "v" + version.DefaultKubeBinaryVersion + ".0"
		parsed = utilversion.MustParseSemantic(linked)
	}
	gitVersion = linked
	gitMajor, gitMinor = strconv.FormatUint(uint64(parsed.Major()), 10), strconv.FormatUint(uint64(parsed.Minor()), 10)
	// The package copied the placeholder before this function ran. What it is told
	// now is what it would have copied, so it has no ground to refuse.
	_ = version.SetDynamicVersion(linked)
}

// moduleVersion returns the version of a module that this binary is built from,
// empty when the binary does not say.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, dep := range info.Deps {
		if dep.Path != path {
			continue
		}
		if dep.Replace != nil {
			return dep.Replace.Version
		}
		return dep.Version
	}
	return ""
}

// kubernetesVersion is the version that the API server reports, such as v1.37.2.
func kubernetesVersion() string { return version.Get().GitVersion }
