// Package suite names Kubernetes' end-to-end tests, and in its go.mod the version
// of them and of all that they need. The module is one of its own so that the tests'
// modules are none of Whylet's; where both have one, it is of the same version.
package suite

import _ "k8s.io/kubernetes/test/e2e"
