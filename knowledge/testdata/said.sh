#!/bin/bash
# Has programs say what they say of what they lack, for said.txt: run it as root, in a
# mount namespace of its own, on a machine that has them:
#
#     unshare -m knowledge/testdata/said.sh > knowledge/testdata/said.txt
#
# Lines of source code and of stacks are left out.
cd "$(mktemp -d)" || exit 1
version() { echo "# $("$@" 2>&1 | grep -m1 '[0-9]')"; }
run() {
	echo "\$ ${*//$'\n'/; }"
	timeout 60 "$@" 2>&1 </dev/null | grep -v -e '^ ' -e '^	' -e '^$' -e '^node:' -e '^\[[0-9]*:0x' -e '^--20' -e '^#' | cut -c1-240 | head -8
	echo
}
nobody() { run setpriv --reuid 65534 --clear-groups "$@"; }
cat > Heap.java <<'E'
import java.util.*;
class Heap { public static void main(String[] a) { List<byte[]> l = new ArrayList<>(); while (true) l.add(new byte[1 << 20]); } }
E
cat > Net.java <<'E'
class Net { public static void main(String[] a) throws Exception { new java.net.Socket(a[0], Integer.parseInt(a[1])); } }
E
cat > Temp.java <<'E'
class Temp { public static void main(String[] a) throws Exception { java.nio.file.Files.createTempFile("x", "y"); java.io.File.createTempFile("x", "y"); } }
E
printf '#!/no/sh\n' > script; printf '\x7fELF' > program; chmod +x script program
python=$(pyenv which python3 2>/dev/null || command -v python3)
version "$python" -V; version node -v; version java -version; version perl -v; version bash --version; version busybox; version curl --version; version psql --version; version ldd --version; version openssl version
mkdir read full
mount -t tmpfs -o size=4k none full && head -c 4096 /dev/zero > full/hog
mount -t tmpfs -o ro none read

run dd if=/dev/zero of=full/x bs=4k count=1
run "$python" -c 'open("full/x","w").write("x"*9999)'
run busybox sh -c 'echo x > read/x'
run bash -c 'echo x > read/x'
run "$python" -c 'open("read/x","w")'
run env TMPDIR=/nope bash -c 'cd read; exec "$0" -c "
import tempfile; tempfile._candidate_tempdir_list=lambda: [\"/nope\"]; tempfile.gettempdir()"' "$python"
run java -Djava.io.tmpdir=/nope Temp.java
nobody busybox chown 0 /etc/passwd
nobody busybox cat /etc/shadow
nobody bash -c 'echo > /etc/x'
nobody node -e 'require("fs").mkdirSync("/data")'
nobody perl -e 'open(F, ">/etc/x") or die "open /etc/x: $!\n"'
run bash -c 'ulimit -n 12; exec "$0" -c "
import os
while 1: os.open(\"/etc/hosts\", 0)"' "$python"
run bash -c 'ulimit -n 40; exec node -e "const fs=require(\"fs\"); while(1) fs.openSync(\"/etc/hosts\")"'
run "$python" -c 'import socket; a=socket.socket(); a.bind(("127.0.0.1",0)); a.listen(); b=socket.socket(); b.bind(a.getsockname())'
run node -e 'const n=require("net");const a=n.createServer().listen(0,()=>n.createServer().listen(a.address().port))'
run java -Xmx32m Heap.java
run node --max-old-space-size=20 -e 'const a=[];while(1)a.push(new Array(1e5).fill(1.5))'
run "$python" -c 'import resource; resource.setrlimit(resource.RLIMIT_AS,(1<<28,1<<28)); bytearray(1<<30)'
run bash -c 'ulimit -v 200000; exec perl -e "\$x=q(x) x (1<<30)"'
run busybox sh -c 'ulimit -v 20000; busybox sort /dev/zero'
nobody bash -c 'ulimit -u 0; /bin/true; /bin/true'
run unshare -Ur bash -c 'echo 0 > /proc/sys/user/max_inotify_instances; exec timeout 1 tail -f /etc/hosts'
run unshare -Ur bash -c 'echo 0 > /proc/sys/user/max_inotify_watches; exec node -e "require(\"fs\").watch(\"/etc/hosts\")"'
echo 'int x;' > x.c; echo 'extern int x; int main() { return x; }' > main.c
gcc -shared -o libx.so x.c && gcc -o app main.c ./libx.so && rm libx.so
run ./app
run "$python" -c 'import flask_none'
run node -e 'require("express-none")'
run java -cp . com.example.Main
run java -agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:50055 -cp /nothing Check
run perl -e 'use Nope;'
run "$python" -c 'import socket; socket.create_connection(("127.0.0.1",9))'
run node -e 'require("net").connect(9,"127.0.0.1")'
run curl -sS http://127.0.0.1:9/
run busybox wget -O- http://127.0.0.1:9/
run busybox nc -w1 127.0.0.1 9
run wget -O- --tries=2 --waitretry=1 --retry-connrefused http://127.0.0.1:9/
run psql -h 127.0.0.1 -p 9 -c 'select 1'
run java Net.java 127.0.0.1 9
run unshare -n "$python" -c 'import socket; socket.create_connection(("192.0.2.1",9))'
run unshare -n node -e 'require("net").connect(9,"192.0.2.1")'
run "$python" -c 'import socket; socket.create_connection(("db.invalid",5432))'
run node -e 'require("net").connect(5432,"db.invalid")'
run curl -sS http://db.invalid/
run busybox wget -O- http://db.invalid/
run busybox nc -w1 db.invalid 5432
run psql -h db.invalid -c 'select 1'
run java Net.java db.invalid 5432
run unshare -n bash -c 'ip link set lo up 2>/dev/null; mount --bind <(echo nameserver 127.0.0.1) /etc/resolv.conf 2>/dev/null; exec "$0" -c "import socket; socket.create_connection((\"db.example\",5432))"' "$python"
for shell in dash bash 'busybox sh'; do run $shell -c 'sh -c "kill -ABRT \$\$"; exit $?'; done
run bash -c 'sh -c "kill -SEGV \$\$"; exit $?'
run bash -c /nope
run busybox sh -c /nope
run bash -c ./script
run bash -c ./program
run busybox env ./script
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 1 -subj /CN=localhost 2>/dev/null
openssl s_server -accept 44330 -cert cert.pem -key key.pem -quiet -www >/dev/null 2>&1 &
server=$!
for _ in $(seq 50); do (: </dev/tcp/127.0.0.1/44330) 2>/dev/null && break; read -rt 0.1 <> <(:); done
run curl -sS https://localhost:44330/
run node -e 'require("https").get("https://localhost:44330/")'
run "$python" -c 'import urllib.request; urllib.request.urlopen("https://localhost:44330/")'
cat > Get.java <<'E'
class Get { public static void main(String[] a) throws Exception { new java.net.URL(a[0]).openStream(); } }
E
run java Get.java https://localhost:44330/
run "$python" -c 'import sqlite3; sqlite3.connect(":memory:").execute("select * from orders")'
run "$python" -c 'import sqlite3; open("d", "w").write("x" * 5000); sqlite3.connect("d").execute("select * from orders")'
run env LC_ALL=C PYTHONCOERCECLOCALE=0 PYTHONUTF8=0 "$python" -c 'print("\xe4")'
run "$python" -c 'import pwd; pwd.getpwuid(4711)'
run node -e 'require("crypto").createHash("md4")'
run "$python" -c 'import zoneinfo; zoneinfo.ZoneInfo("Nope/Nowhere")'
run "$python" -c 'int("tcp://10.43.0.9:6379")'
kill $server
printf '#!/bin/bash\n\r\necho x\r\n' > crlf; printf '#!/usr/bin/env bash\r\n' > envcrlf; chmod +x crlf envcrlf
run dash -c '[[ -f x ]]'
run dash -c 'set -o pipefail'
run dash -c 'echo ${x/a/b}'
run ./crlf
run ./envcrlf
run "$python" -c 'input()'
run "$python" -c 'import os; os.nope()'
run "$python" -c 'import json; json.loads("{a: 1}")'
run "$python" -c 'import tomllib; tomllib.loads("a b")'
run "$python" -c 'import base64; base64.b64decode("abcde")'
run "$python" -c 'None.x'
run node -e 'undefined.x'
echo 'import x from "fs"' > esm.js; echo 'require("fs")' > cjs.mjs; run node esm.js; run node cjs.mjs
run node -e 'require("crypto").createCipheriv("aes-256-cbc", "short", Buffer.alloc(16))'
run node -e 'require("tls").createSecureContext({cert: "x"})'
echo '{}' > package.json
run npm run nope
run java -Xms64m -Xmx32m -version
run java -Xmx512 -version
cat > Open.java <<'E'
class Open { public static void main(String[] a) throws Exception { String.class.getDeclaredField("value").setAccessible(true); } }
E
cat > Driver.java <<'E'
class Driver { public static void main(String[] a) throws Exception { java.sql.DriverManager.getConnection("jdbc:nope://db/shop"); } }
E
cat > Null.java <<'E'
class Null { public static void main(String[] a) { String s = null; s.length(); } }
E
for class in Open Driver Null; do run java $class.java; done
git init -q repository && chmod 711 . && chmod 755 repository
nobody env HOME=/ git -C "$PWD/repository" status
openssl enc -aes-256-cbc -pbkdf2 -k one -in script -out secret
run openssl enc -d -aes-256-cbc -pbkdf2 -k two -in secret
bin=$(dirname "$(readlink -f "$(command -v initdb)")")
mkdir data other; chown nobody data
run "$bin/initdb" -D other
setpriv --reuid 65534 --clear-groups "$bin/initdb" -A trust -U postgres -D data >/dev/null 2>&1
echo 'host all all 127.0.0.2/32 trust' > data/pg_hba.conf; echo 'local all all trust' >> data/pg_hba.conf
chown daemon data; chmod 755 data; nobody "$bin/postgres" -D data; chown nobody data; chmod 700 data
setpriv --reuid 65534 --clear-groups "$bin/postgres" -D data -k "$PWD/data" -p 50432 >/dev/null 2>&1 &
database=$!
for _ in $(seq 100); do [ -S data/.s.PGSQL.50432 ] && break; read -rt 0.1 <> <(:); done
psql -qh "$PWD/data" -p 50432 -U postgres -c 'create role shop login' -c 'create role one login connection limit 0'
run psql -h 127.0.0.1 -p 50432 -U shop postgres -c 'select 1'
run psql -h "$PWD/data" -p 50432 -U shop postgres -c 'create table orders ()'
run psql -h "$PWD/data" -p 50432 -U one postgres -c 'select 1'
run psql -h "$PWD/data" -p 50432 -U postgres -c 'set statement_timeout = 1' -c 'select pg_sleep(9)'
run psql -h "$PWD/data" -p 50432 -U postgres -c 'create extension vector'
run psql -h "$PWD/data" -p 50432 -U postgres -c 'execute nope'
run psql "host=127.0.0.1 port=50432 user=shop sslmode=require" -c 'select 1'
kill $database
nobody "$bin/postgres" -D data -c nope=1
umount full read
