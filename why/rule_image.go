package why

import (
	"fmt"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// The functions below say why there is no image, in the words of registries and of
// containerd (docker/resolver, reference/docker).

func imageNever(c notStarted) *finding {
	if c.reason != "ErrImageNeverPull" {
		return nil
	}
	return c.image(answer.ImagePolicyNever, certain, answer.Recorded, "is not on the node, and imagePullPolicy is Never", loadImage, c.h.specFix("set imagePullPolicy to IfNotPresent"))
}

func imageNotFound(c notStarted) *finding {
	switch {
	case c.reason == "InvalidImageName":
		return c.image(answer.ImageNotFound, certain, answer.Recorded, "is not a valid name of an image", c.h.specFix("correct the image's name"))
	case c.says(knowledge.NoSuchImage) && !c.says(knowledge.NotThatImage):
		return c.image(answer.ImageNotFound, strong, answer.Inferred, "does not exist in its registry", c.h.specFix("correct the image's name or tag"))
	}
	return nil
}

func imageUnauthorized(c notStarted) *finding {
	if !c.says(knowledge.NotAuthorized) {
		return nil
	}
	return c.image(answer.ImageUnauthorized, strong, answer.Inferred, "may not be pulled with the credentials that the pod has (a registry also says this of names that do not exist)",
		c.h.specFix("add an imagePullSecret for the registry"), c.h.inspect("see which pull secrets it has", c.h.kubectl("get pod %s -o jsonpath='{.spec.imagePullSecrets}'", c.h.Pod.Name)))
}

func imageUnreachable(c notStarted) *finding {
	if c.says(knowledge.PullsLimited) {
		return c.image(answer.ImageRegistryUnreachable, strong, answer.Inferred, "cannot be pulled: the rate limit of its registry is exceeded"+colon(prose.Last(c.message, kept)),
			c.h.specFix("pull with credentials (imagePullSecrets): a registry allows those who log in more; or name a mirror in the image"), loadImage)
	}
	if c.reason != "RegistryUnavailable" && !c.says(knowledge.RegistryAway) {
		return nil
	}
	away := "its registry does not answer"
	if strings.Contains(c.message, "lookup ") {
		away = "the name of its registry was not resolved on the node"
	}
	return c.image(answer.ImageRegistryUnreachable, strong, answer.Inferred, "cannot be pulled: "+away+colon(prose.Last(c.message, kept)), kubectl.OnNode("ask the registry from the node", shell.Linef("curl -sI https://%s/v2/", registryOf(fact.Of[fact.ImageFailed](c.fact).Image))), loadImage)
}

var loadImage = answer.Fix{Text: "load the image onto the node by hand, from an archive of it", Risk: answer.Safe}

// registryOf returns the host that an image is pulled from: the first part of its name where that may be a
// host, else that of Docker Hub (github.com/distribution/reference, splitDockerDomain).
func registryOf(image string) string {
	host, _, found := strings.Cut(image, "/")
	if found && (strings.ContainsAny(host, ".:") || host == "localhost") {
		return host
	}
	return "registry-1.docker.io"
}

func (c notStarted) image(cause answer.Cause, w weight, certainty answer.Certainty, what string, fixes ...answer.Fix) *finding {
	failed := fact.Of[fact.ImageFailed](c.fact)
	f := &finding{cause: cause, weight: w, certainty: certainty, chain: c.chain(), fixes: fixes}
	f.text = fmt.Sprintf("The image %s of container %s %s.", failed.Image, c.run.Container, what)
	if failed.OnNode {
		f.because = []string{"The node has that image, and starts nothing of it because imagePullPolicy Always (which is what a tag latest, or none, stands for) asks the registry each time."}
		f.first(c.h.specFix("set imagePullPolicy to IfNotPresent, to use the image that is on the node"))
	}
	return f
}
