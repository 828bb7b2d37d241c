. "$(dirname "$0")/../../lib.sh"
ready
k exec subject -- python3 -c 'open("/data/new.json", "w").write("[" * 1000000 + "]" * 1000000)'
k exec subject -- mv /data/new.json /data/catalogue.json
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 2
