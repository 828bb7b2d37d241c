. "$(dirname "$0")/../../lib.sh"
ready
k exec cache -- redis-cli eval 'for i = 1, 20000 do redis.call("set", "session:" .. i, string.rep("x", 300)) end' 0
k wait pod/subject --for=condition=Ready=false --timeout=90s
