package why

import (
	"cmp"
	"fmt"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// ofKeys are meanings of what is said of certificates, keys, tokens, rights and clocks. CertificateName
// is before those of other certificates: clients name what is wrong with one behind "verify failed".
var ofKeys = []meaning{
	{
		words.CertificateName,
		"the certificate is not made for the name by which it asks",
		changing("have it ask by a name that the certificate has, or have the certificate made anew with this one among its subject alternative names"),
	},
	{
		words.ClockWrong,
		"the clock of this node, or of whom it asks, is wrong",
		showing("see whether the node keeps its clock (System clock synchronized: yes)", "timedatectl   # on the node"),
	},
	{
		words.LicenceOver,
		"its licence has run out, or is none that it takes",
		changing("get a licence that is valid, and put it where the program reads it (a Secret, mostly)"),
	},
	{
		words.KeyChanged,
		"what it reads was encrypted with another key than the one that it has now",
		changing("give it the key again with which that was written (was its Secret made anew?); with a new one, what is stored has to be entered anew"),
	},
	{
		words.KeyForm,
		"a key that it is given has not the form that it wants: not so many bytes, not in base64, or with an end of line",
		changing("make one in the form that it names, and put it into its Secret without an end of line (kubectl create secret generic NAME --from-literal=…)"),
	},
	{
		words.NotPEM,
		"a file that is to be a certificate or a key is none: PEM begins with -----BEGIN",
		changing("see what its Secret really has (kubectl get secret NAME -o yaml, and base64 -d): the certificate in tls.crt, the key in tls.key, each whole and encoded once"),
	},
	{
		words.HostKey,
		"it does not know the key of the ssh server that it asks, or knows another",
		changing("give it that key: what ssh-keyscan HOST says, compared once with the server's own, in a file known_hosts that is mounted at ~/.ssh"),
	},
	{
		words.CloudRight,
		"the cloud knows who asks, and does not let it do that: its role lacks the right",
		changing("give that role the right which is named there, at the cloud; and see that the pod's service account is of that role (annotation eks.amazonaws.com/role-arn, iam.gke.io/gcp-service-account)"),
	},
	{
		words.TokenExpired,
		"the token with which it asks has expired",
		changing("get a new one, and start the pod again: what is in env, or mounted by subPath, stays as it was; better let it get new ones by itself"),
	},
	{
		words.RateLimited,
		"whom it asks has had too many requests, and takes no more for a while",
		changing("have it ask less often, keep what it got (a cache, a volume), or log in there (the limit for who is not is lower); each new start asks again"),
	},
	{
		words.NoBucket,
		"the store has no bucket of that name, or the name is of another region or store",
		changing("make the bucket, or correct its name, its region or the address of the store (endpoint)"),
	},
	{
		words.GatedModel,
		"the model is given only to who has agreed to its terms",
		changing("agree to the model's terms at huggingface.co, and give the container a token of that account (HF_TOKEN, from a Secret)"),
	},
	{
		words.GitOwner,
		"git works in no folder that belongs to another user",
		changing("have it run as the user whom the folder belongs to, or set in the container's env GIT_CONFIG_COUNT=1, GIT_CONFIG_KEY_0=safe.directory, GIT_CONFIG_VALUE_0=*"),
	},
	{
		words.NoToken,
		"it wants to ask the API server, and has no token of a service account",
		changing("leave automountServiceAccountToken: false out of the pod's spec and of its ServiceAccount, or set it true in the pod's"),
	},
	{
		words.GoneAPI,
		"it asks the API server for what this version of Kubernetes does not have any more, or not yet",
		showing("see which versions of what it asks for the cluster has, and use a version of the program that goes with them", "kubectl api-versions"),
	},
	{
		words.WebhookDown,
		"the API server asks a webhook before each such change, and gets no good answer from it",
		func(h *inquiry, _, said string) answer.Fix {
			name := cmp.Or(firstOf(words.WebhookDown.Find(said)...), "NAME")
			return h.inspect("see which Service the webhook has, and whether its pods are ready; take the webhook away if it is left over",
				fmt.Sprintf("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml | grep -A20 %s", name))
		},
	},
}
