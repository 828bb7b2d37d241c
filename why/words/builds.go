package words

// What is said of how a program was built and is started, beside what troubles.go has.
var (
	// HeapFlags is said by Java of a heap that it cannot have.
	HeapFlags = fits("OpenJDK 25, arguments.cpp and os_linux.cpp", `(?i)\btoo small (initial|maximum) heap\b|\binitial heap size set to a larger value than the maximum|\bcould not reserve enough space for (\d+\w* )?object heap|\binsufficient memory for the java runtime environment\b|\binvalid (maximum|initial) heap size\b`,
		"Error occurred during initialization of VM\nToo small maximum heap", "Initial heap size set to a larger value than the maximum heap size", "Could not reserve enough space for 4194304KB object heap", "# There is insufficient memory for the Java Runtime Environment to continue.", "Invalid maximum heap size: -Xmx512")
	NoICU = fits(".NET 10, GlobalizationMode.Unix.cs", `(?i)couldn't find a valid icu package`, "Process terminated. Couldn't find a valid ICU package installed on the system.")
	// ClosedJava is said of the inside of Java, which newer versions close.
	ClosedJava = fits("OpenJDK 25", `(?i)\binaccessibleobjectexception\b|does not "?opens? [\w.]+"? to unnamed module`,
		`java.lang.reflect.InaccessibleObjectException: Unable to make field private final byte[] java.lang.String.value accessible: module java.base does not "opens java.lang" to unnamed module @1b2c3d`)
	// TwoKinds is said by Node.js of modules of the other kind.
	TwoKinds = fits("Node 24", `\bERR_REQUIRE_ESM\b|(?i)cannot use import statement outside a module|\brequire is not defined in es module scope`,
		"Error [ERR_REQUIRE_ESM]: require() of ES Module /app/node_modules/chalk/source/index.js from /app/index.js not supported.", "SyntaxError: Cannot use import statement outside a module", "ReferenceError: require is not defined in ES module scope, you can use import instead")
	// OtherLibrary is said of what a library does not have, in the version that is there.
	OtherLibrary = fits("Pydantic 2, CPython 3.14, OpenJDK 25, setuptools 80", `(?i)\bhas been moved to the .{1,40} package\b|\bmodule '[\w.]+' has no attribute '|\bjava\.lang\.(nosuchmethoderror|nosuchfielderror|abstractmethoderror|incompatibleclasschangeerror)\b|\bcontextualversionconflict\b`,
		"pydantic.errors.PydanticImportError: `BaseSettings` has been moved to the `pydantic-settings` package.", "AttributeError: module 'numpy' has no attribute 'bool'", "java.lang.NoSuchMethodError: 'void com.example.A.b()'", "pkg_resources.ContextualVersionConflict: (click 8.1 (/usr/lib/python3), Requirement.parse('click<8'), {'flask'})")
	// WindowsLines is said by a shell of the second half of Windows' ends of lines.
	WindowsLines = fits("bash 5.2, coreutils 9, env", `\$'\\r': command not found|(?i)\benv: ['‘]?\w+(\\r|\r)`,
		`/entrypoint.sh: line 2: $'\r': command not found`, `env: ‘bash\r’: No such file or directory`)
	Bashism = fits("dash 0.5, busybox 1.37", `(?i)\b(da|a)?sh: (\d+: |line \d+: )?(\[\[|source|declare|shopt): not found|: bad substitution\b|\billegal option -o pipefail\b|\bsyntax error: "\(" unexpected\b`,
		"/bin/sh: 3: [[: not found", "/entrypoint.sh: 7: Bad substitution", "sh: 1: set: Illegal option -o pipefail", `/entrypoint.sh: 4: Syntax error: "(" unexpected`, "sh: 2: source: not found")
	NoScript = fits("npm 11, pnpm 10, Yarn 4", `(?i)\bmissing script: "?[\w:-]+|\berr_pnpm_no_script\b|\bcouldn't find a script named "`,
		`npm error Missing script: "start:prod"`, "ERR_PNPM_NO_SCRIPT  Missing script: start", `Usage Error: Couldn't find a script named "start".`)
	// NoDriver is said of what a language needs for a database.
	NoDriver = fits("PHP 8.4, PDO; OpenJDK 25, DriverManager.java; SQLAlchemy 2; Django 5", `(?i)\bcould not find driver\b|\bno suitable driver found for\b|\bcan't load plugin: sqlalchemy\b|\bcall to undefined function (mysqli|pg|oci|curl|mb|gd|ldap|imagecreate)\w*\(|\berror loading (mysqldb|psycopg2|psycopg2 or psycopg) module\b`,
		"PDOException: could not find driver", "java.sql.SQLException: No suitable driver found for jdbc:postgresql://db/shop", "sqlalchemy.exc.NoSuchModuleError: Can't load plugin: sqlalchemy.dialects:postgres", "PHP Fatal error:  Uncaught Error: Call to undefined function mysqli_connect()", "django.core.exceptions.ImproperlyConfigured: Error loading psycopg2 or psycopg module")
	// NotParsed is said of a file in YAML, JSON or TOML that is none.
	NotParsed = fits("go-yaml 3, PyYAML 6, SnakeYAML 2, Go 1.26 encoding/json, CPython 3.14 json and tomllib",
		`(?i)\byaml: (line \d+: )?(mapping values|did not find|found character|found a tab|could not find expected|block sequence)|\bmapping values are not allowed\b|\bfound character .{1,8} that cannot start any token\b|\bdid not find expected (key|node|'-' indicator)|\bexpecting property name enclosed in double quotes\b|\blooking for beginning of object key string\b|\btomldecodeerror\b|\bwhile parsing a block mapping\b`,
		"yaml: line 12: mapping values are not allowed in this context", "error converting YAML to JSON: yaml: line 7: did not find expected key", "found character '\\t' that cannot start any token.", "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 4 column 1 (char 40)", "invalid character '}' looking for beginning of object key string", "tomllib.TOMLDecodeError: Expected '=' after a key in a key/value pair (at line 3, column 7)", "yaml.parser.ParserError: while parsing a block mapping")
	// NoSetting is said of a setting that a program does not know.
	NoSetting = fits("go-yaml 3, Pydantic 2, Redis 8, PostgreSQL 17, Neo4j 2025", `(?i)\bfield \w+ not found in type \S+|\bextra inputs are not permitted\b|\bno declared setting with name\b|\bbad directive or wrong number of arguments\b|\bunrecognized configuration parameter\b`,
		"line 7: field scrape_intervall not found in type config.plain", "Extra inputs are not permitted [type=extra_forbidden, input_value='x', input_type=str]", "Unrecognized setting. No declared setting with name: dbms.memory.heap.max.", "Bad directive or wrong number of arguments", `FATAL:  unrecognized configuration parameter "shared_bufers"`)
	// NoValue is said of a program's own error: a value that it takes for granted.
	NoValue = fits("Go 1.26 runtime, OpenJDK 25, Node 24, CPython 3.14, .NET 10, Ruby 3.4", `(?i)\binvalid memory address or nil pointer dereference\b|\bjava\.lang\.nullpointerexception\b|\bcannot read propert(y|ies) of (undefined|null)\b|'nonetype' object (has no attribute|is not)|\bobject reference not set to an instance\b|\bundefined method .{1,60} for nil\b`,
		"panic: runtime error: invalid memory address or nil pointer dereference", "Exception in thread \"main\" java.lang.NullPointerException: Cannot invoke \"String.length()\" because \"s\" is null", "TypeError: Cannot read properties of undefined (reading 'id')", "AttributeError: 'NoneType' object has no attribute 'id'", "System.NullReferenceException: Object reference not set to an instance of an object.", "undefined method 'id' for nil (NoMethodError)")
)
