package images

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/util/parsers"
)

// withTag adds the tag :latest to a name that has neither tag nor digest. The
// name is otherwise left as it is: whether a short name means Docker Hub is for
// the runtime to say.
func withTag(image string) (string, error) {
	_, tag, digest, err := parsers.ParseImageName(image)
	if err != nil {
		return "", err
	}
	if digest == "" && tag != "" && !strings.HasSuffix(image, ":"+tag) {
		image += ":" + tag
	}
	return image, nil
}

// Policy gives a container's pull policy, with the API server's default where
// none is written: Always for the tag latest, else IfNotPresent.
func Policy(c *v1.Container) v1.PullPolicy { return policy(c.Image, c.ImagePullPolicy) }

func policy(image string, written v1.PullPolicy) v1.PullPolicy {
	if written != "" {
		return written
	}
	if _, tag, _, err := parsers.ParseImageName(image); err == nil && tag == "latest" {
		return v1.PullAlways
	}
	return v1.PullIfNotPresent
}
