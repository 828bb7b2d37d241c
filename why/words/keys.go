package words

// What is said of keys, tokens, rights and clocks, beside what troubles.go has.
var (
	ClockWrong = fits("S3 and its like; CockroachDB 25; golang-jwt 5; Ceph 19; Kerberos 5",
		`(?i)\brequesttimetooskewed\b|\bclock skew (too great|detected)\b|\bclock synchronization error\b|\btoken used before issued\b|\bclocks? (are |is )?(out of sync|not synchronized)\b|\bsignature not yet current\b|\bimmaturesignatureerror\b|\bdifference between the request time and the (server's|current) time is too large`,
		"RequestTimeTooSkewed: The difference between the request time and the current time is too large.", "clock synchronization error: this node is more than 500ms away from at least half of the known nodes", "token used before issued", "Clock skew too great", "jwt.exceptions.ImmatureSignatureError: The token is not yet valid (iat)", "Signature not yet current: 20261123T100000Z is still later than 20261123T095000Z")
	LicenceOver = fits("what programs say of their licence, in their own words",
		`(?i)\blicen[sc]e\b.{0,30}\b(has |is |was )?(expired|invalid|not valid)\b|\b(invalid|expired|no valid) licen[sc]e\b`,
		"license expired on 2026-11-01", "current license is invalid", "ERROR: no valid license found")
	// KeyChanged is said of what was encrypted with another key.
	KeyChanged = fits("n8n 1, cryptography 45 (Fernet), Go 1.26 crypto/cipher, OpenSSL 3.5, Rails 8, Laravel 12, ASP.NET 10",
		`(?i)\bmismatching encryption keys\b|\bfernet\.invalidtoken\b|\bcipher: message authentication failed\b|\bbad decrypt\b|\bmessageencryptor::invalidmessage\b|\bthe mac is invalid\b|\bwrong final block length\b|\bwas not found in the key ring\b`,
		"Error: Mismatching encryption keys. The encryption key in the settings file /home/node/.n8n/config does not match the N8N_ENCRYPTION_KEY env var.", "cryptography.fernet.InvalidToken", "The key {c2f6cd4e-5a0f-4a3d-8f57-1f4f5e7f1a10} was not found in the key ring.", "cipher: message authentication failed", "error:1C800064:Provider routines::bad decrypt", "ActiveSupport::MessageEncryptor::InvalidMessage", "Illuminate\\Contracts\\Encryption\\DecryptException: The MAC is invalid.", "error:1C80006B:Provider routines::wrong final block length")
	// KeyForm is said of a key that has not the form that is wanted.
	KeyForm = fits("cryptography 45, Airflow 3, Go 1.26 crypto/aes and encoding/base64, CPython 3.14 binascii, Laravel 12, Node 24",
		`(?i)\bfernet key must be\b|\bincorrect aes key length\b|\bcrypto/aes: invalid key size\b|\binvalid key length\b|\billegal base64 data at input byte\b|\bbinascii\.error\b|\bunsupported cipher or incorrect key length\b|\bno application encryption key has been specified\b`,
		"ValueError: Fernet key must be 32 url-safe base64-encoded bytes.", "crypto/aes: invalid key size 5", "RangeError: Invalid key length", "illegal base64 data at input byte 4", "binascii.Error: Incorrect padding", "Unsupported cipher or incorrect key length. Supported ciphers are: aes-128-cbc", "No application encryption key has been specified.", "ValueError: Incorrect AES key length (5 bytes)")
	NotPEM = fits("OpenSSL 3.5, Go 1.26 crypto/tls", `(?i)\bpem routines:[\w:]*:no start line\b|\bfailed to find any pem data\b|\bpem routines:[\w:]*:bad base64 decode\b`,
		`nginx: [emerg] cannot load certificate "/tls/tls.crt": PEM_read_bio_X509_AUX() failed (SSL: error:0480006C:PEM routines::no start line)`, "tls: failed to find any PEM data in certificate input", "error:04800064:PEM routines::bad base64 decode")
	HostKey = fits("OpenSSH 10, sshconnect.c; golang.org/x/crypto, ssh/knownhosts", `(?i)\bhost key verification failed\b|\bknownhosts: key (is unknown|mismatch)|\bremote host identification has changed\b`,
		"Host key verification failed.", "ssh: handshake failed: knownhosts: key is unknown", "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @")
	// CloudRight is said by a cloud that knows who asks.
	CloudRight = fits("AWS's, Google's and Azure's clients",
		`(?i)\bis not authorized to perform:? \S+:\S+|\bdoes not have [\w.]+\.[\w.]+ access to\b|\bpermission '[\w./]+' denied on resource\b|\bdoes not have authorization to perform action '`,
		"AccessDenied: User: arn:aws:sts::1:assumed-role/x is not authorized to perform: route53:ListHostedZones", "shop@x.iam.gserviceaccount.com does not have storage.objects.get access to the Google Cloud Storage object.", "Permission 'pubsub.topics.publish' denied on resource", "AuthorizationFailed: The client 'x' does not have authorization to perform action 'Microsoft.Storage/read'")
	TokenExpired = fits("AWS's clients, jsonwebtoken 9, golang-jwt 5, PyJWT 2, OAuth 2 (RFC 6749)", `(?i)\bexpiredtoken(exception)?\b|\btoken (has |is )?expired\b|\bjwt expired\b|\bsignature has expired\b|\btokenexpirederror\b`,
		"ExpiredToken: The provided token has expired.", "TokenExpiredError: jwt expired", "jwt.exceptions.ExpiredSignatureError: Signature has expired", "token is expired by 5m")
	RateLimited = fits("RFC 6585 (429), Let's Encrypt (RFC 8555), AWS's clients, Docker Hub",
		`(?i)\b429\b.{0,12}too many requests|\btoomanyrequests\b|\brate ?limit (was |has been |is )?(exceeded|reached)|:rateLimited\b|\bratelimiterror\b|\bthrottlingexception\b|\brate exceeded\b|\bstatus( code)?:? 429\b`,
		"HTTP 429 Too Many Requests", "toomanyrequests: You have reached your unauthenticated pull rate limit", "acme: error: 429 :: urn:ietf:params:acme:error:rateLimited :: too many certificates (5) already issued", "openai.RateLimitError: Error code: 429", "ThrottlingException: Rate exceeded", "AxiosError: Request failed with status code 429", "API rate limit exceeded for 203.0.113.5")
	NoBucket = fits("S3 and its like; Google Cloud Storage", `(?i)\bnosuchbucket\b|\bthe specified bucket does not exist\b`,
		"botocore.errorfactory.NoSuchBucket: An error occurred (NoSuchBucket) when calling the ListObjectsV2 operation", "The specified bucket does not exist")
	GatedModel = fits("huggingface_hub 1", `(?i)\bgated repo\b|\bgatedrepoerror\b|\baccess to model \S+ is restricted\b`,
		"OSError: You are trying to access a gated repo.", "huggingface_hub.errors.GatedRepoError: 401 Client Error.", "Access to model meta-llama/Meta-Llama-3-8B-Instruct is restricted.")
	GitOwner = fits("git 2, setup.c", `(?i)detected dubious ownership in repository`, "fatal: detected dubious ownership in repository at '/srv/app'")
	// NoToken is said by a client of the API server that has no account.
	NoToken = fits("k8s.io/client-go, rest/config.go; controller-runtime 0.22; Kubernetes' clients of other languages",
		`(?i)\bunable to load in-cluster configuration\b|/serviceaccount/token: no such file|\bkubernetes_service_host and kubernetes_service_port must be defined|\binvalid configuration: no configuration has been provided\b|\bservice host/port is not set\b`,
		"unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined", "open /var/run/secrets/kubernetes.io/serviceaccount/token: no such file or directory", "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable", "kubernetes.config.config_exception.ConfigException: Service host/port is not set.")
	// GoneAPI is said by the API server of what it does not have in that version.
	GoneAPI = fits("k8s.io/apimachinery, pkg/api/errors", `(?i)\bthe server could not find the requested resource\b`,
		"Failed to list *v1beta1.Ingress: the server could not find the requested resource (get ingresses.extensions)")
	WebhookDown = fits("k8s.io/apiserver, pkg/admission/plugin/webhook", `(?i)\bfailed calling webhook "([\w.-]+)"`,
		`Internal error occurred: failed calling webhook "validate.nginx.ingress.kubernetes.io": no endpoints available for service "ingress-nginx-controller-admission"`)
)
