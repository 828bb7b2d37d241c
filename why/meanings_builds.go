package why

import "whylet.dev/whylet/why/words"

// ofBuilds are meanings of what is said of how a program was built and is started.
var ofBuilds = []meaning{
	{
		words.HeapFlags,
		"Java cannot have the heap that its settings ask for: they contradict each other, or the container's memory limit",
		changing("set JAVA_TOOL_OPTIONS=-XX:MaxRAMPercentage=75 in the container's env instead of -Xms and -Xmx; or have -Xms no larger than -Xmx, and that some 75 % of the memory limit"),
	},
	{
		words.NoICU,
		".NET finds no ICU, the library for languages and their signs, in the image",
		changing("set DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 in the container's env, or add icu-libs (Alpine) or libicu (Debian) to the image"),
	},
	{
		words.ClosedJava,
		"it reaches into the inside of Java, which newer versions have closed",
		changing("set JAVA_TOOL_OPTIONS=--add-opens=java.base/java.lang=ALL-UNNAMED in the container's env, with the package that it names; or use an image with the version of Java that it was made for"),
	},
	{
		words.TwoKinds,
		"Node.js has two kinds of modules (CommonJS with require, ES modules with import), and one is used as the other",
		changing("use the last version of that package that is of the program's kind, or make the program one of ES modules (\"type\": \"module\" in package.json), and build the image again"),
	},
	{
		words.OtherLibrary,
		"a library in the image is of another version than the program was written for",
		changing("pin the version with which it worked (a lock file; in requirements.txt name<2), and build the image again"),
	},
	{
		words.WindowsLines,
		"a script has Windows' ends of lines",
		changing("convert it (dos2unix, or * text=auto eol=lf in .gitattributes), then build the image or make the ConfigMap again"),
	},
	{
		words.Bashism,
		"a script for bash is run by sh, which knows less",
		changing("run it with bash (#!/bin/bash in its first line, or bash in the command; the image has to have it), or write it for sh"),
	},
	{
		words.NoScript,
		"the package.json in the image has no script of that name",
		changing("correct the container's command or args (npm run lists the scripts that there are), or add the script and build the image again"),
	},
	{
		words.NoDriver,
		"the image has no driver or extension for what it uses",
		changing("add it to the image (PHP: docker-php-ext-install pdo_mysql or pdo_pgsql; Python: psycopg2-binary or mysqlclient; Java: the driver's jar); an address may name it wrong, too (postgresql:// instead of postgres://)"),
	},
	{
		words.NotParsed,
		"a file that it reads is not valid YAML, JSON or TOML: an indentation, a tab, a quote or a comma, at the line that it names or the one before",
		configuring("correct that file (yamllint or jq checks it before)"),
	},
}

// ofLast are meanings that count only where no other fits.
var ofLast = []meaning{
	{
		words.WorkerLate,
		"a worker of the server gave no sign for longer than it is allowed to, and was ended for that: a request that hangs, or too little CPU",
		changing("find what that request waits for (a query, another service) and give that a time limit of its own; raise the server's last"),
	},
	{
		words.NoSetting,
		"this version of the program knows no setting of that name",
		configuring("correct the name, or leave that setting out (names change between versions)"),
	},
	{
		words.NoValue,
		"the program takes a value for granted that is not there: an error of its own, often where a setting, a row or an answer is missing",
		changing("see what it reads at the place in its code that the log names; where an older version worked, go back to that first"),
	},
}
