package words

// SaysReady is said by one that has come up, and waits for work from then on.
var SaysReady = fits("servers and workers of many languages when they have started: Celery, RabbitMQ, Redis, Spring Boot, uvicorn, Sidekiq",
	`(?i)\b(?:is|am|are|now) (?:now )?ready\b|\bready\.?$|\bready (?:to accept|for) (?:connections|requests|start)|\b(?:start-?up|initiali[sz]ation) (?:is )?complete|\bstarted \S+ in [\d.]+ ?(?:m?s|seconds)\b|\bwaiting for (?:messages|jobs|tasks|work|connections)\b`,
	"celery@worker-1 ready.", "worker is now ready", "Ready to accept connections tcp", "INFO: Application startup complete.",
	"Started Shop in 2.1 seconds (process running for 2.4)", " [*] Waiting for messages. To exit press CTRL+C")
