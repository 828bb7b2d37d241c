package words

// The API server's words when it does not take a pod that a controller wants to make:
// its admission plugins (kube-apiserver 1.36, plugin/pkg/admission) and webhooks.
var (
	QuotaFull = says("kube-apiserver 1.36, admission/plugin/resourcequota/controller.go",
		[]string{"exceeded quota"},
		`pods "web-94cc55cf6-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1`)
	QuotaWants = says("kube-apiserver 1.36, admission/plugin/resourcequota/controller.go",
		[]string{"failed quota"},
		`pods "web-x" is forbidden: failed quota: small: must specify limits.memory for: c`)
	PodSecurity = says("kube-apiserver 1.36, pod-security-admission/admission",
		[]string{"violates podsecurity"},
		`pods "web-x" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)`)
	NoServiceAccount = fits("kube-apiserver 1.36, admission/serviceaccount",
		`serviceaccount.*not found`,
		`pods "web-x" is forbidden: error looking up service account shop/ghost: serviceaccount "ghost" not found`)
	NoPriorityClass = fits("kube-apiserver 1.36, admission/priority",
		`PriorityClass`,
		`pods "web-x" is forbidden: no PriorityClass with name high was found`)
	NoRuntimeClass = fits("kube-apiserver 1.36, admission/runtimeclass",
		`RuntimeClass.*not found`,
		`pods "web-x" is forbidden: pod rejected: RuntimeClass "gvisor" not found`)
	NamespaceEnds = says("kube-apiserver 1.36, admission/plugin/namespace/lifecycle",
		[]string{"being terminated"},
		`pods "web-x" is forbidden: unable to create new content in namespace shop because it is being terminated`)
	OutOfRange = fits("kube-apiserver 1.36, admission/limitranger",
		`is forbidden: m.* usage per `,
		`pods "web-x" is forbidden: maximum memory usage per Container is 64Mi, but limit is 128Mi`)
	AdmissionDenied = says("kube-apiserver 1.36, admission/plugin/webhook/errors",
		[]string{"denied"},
		`admission webhook "images.example.com" denied the request: not signed`)
	Forbidden = says("apimachinery, errors.NewForbidden",
		[]string{"is forbidden"},
		`pods "web-x" is forbidden: no RuntimeClass "x"`)
)
