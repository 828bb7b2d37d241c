. "$(dirname "$0")/../../lib.sh"
ready ruri-deployment-vllm
said "no embeddings from" retriever
said "retriever is not ready"; sleep 8
