# shellcheck shell=bash disable=SC2034,SC2153 # the parts of scripts/site share their names
# What every part of scripts/site uses: where things are, how to speak, how to wait, whom to ask for a server.

readonly HOST=127.0.0.1
readonly CANNOT_HERE=75 # EX_TEMPFAIL: this machine gives no way to make a site; "make test" skips then, and says so

# Debian keeps servers where an ordinary user's PATH does not look.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# --- speaking --------------------------------------------------------------------------------------------------------

say() { printf 'site: %s\n' "$*" >&2; }

shout() {
	printf '\n!!! site: %s\n' "$1" >&2
	shift
	local line
	for line in "$@"; do printf '!!!       %s\n' "$line" >&2; done
	printf '\n' >&2
}

# For what went wrong: the message, then the end of the log that says why.
shout_with_log() {
	local message=$1 log=$2 lines
	mapfile -t lines < <(tail -n 15 "$log" 2>/dev/null)
	shout "$message The end of $log:" "${lines[@]}"
}

# Puts the time before each line, and takes the place of the shell that calls it. In perl, which every Debian has: bash
# reads a pipe byte by byte, and a busy worker's log would cost more than its jobs. Deaf to Ctrl-C, because the terminal
# sends it to everybody and the last lines of a process are the ones worth having. It lives as long as what it listens
# to, so it must not keep our lock.
stamp() {
	trap '' INT TERM HUP
	exec 9>&-
	exec perl -MPOSIX=strftime -ne 'BEGIN { $| = 1 } print strftime("%Y-%m-%d %H:%M:%S ", localtime), $_'
}

# Runs one step of the set-up: its name on the screen with how long it took, its output in the log.
step() {
	local title=$1 log=$LOGS/setup.log begin=$SECONDS
	shift
	say "$title ..."
	if ! "$@" </dev/null 2>&1 | stamp >>"$log"; then
		shout_with_log "$title: failed." "$log"
		return 1
	fi
	say "$title: done in $((SECONDS - begin)) s"
}

# --- small tools -----------------------------------------------------------------------------------------------------

have() { command -v "$1" >/dev/null 2>&1; }
is_root() { [[ $EUID -eq 0 ]]; }

as_root() {
	if is_root; then "$@"; else sudo -n "$@"; fi
}

port_is_taken() { (exec 3<>"/dev/tcp/$HOST/$1") 2>/dev/null; }

# A process that ended but was not collected yet (a container may have no init) still has a number: it is a zombie.
is_alive() {
	local stat
	read -r stat <"/proc/$1/stat" || return 1
	[[ ${stat##*) } != [ZX]* ]]
} 2>/dev/null

has_ended() { ! is_alive "$1"; }

wait_until() {
	local seconds=$1 deadline
	shift
	deadline=$((SECONDS + seconds))
	until "$@"; do
		((SECONDS < deadline)) || return 1
		sleep 0.1
	done
}

# One number for the names and the content of the files that "find ARGUMENTS" finds in this clone.
fingerprint() (
	set +e # a folder that is not there has no files
	{
		echo "$ROOT"
		cd "$ROOT" && find "$@" -type f -print0 2>/dev/null | sort -z | xargs -0r sha256sum
	} | sha256sum | cut -c1-16
)

# What was done is remembered as a file with the fingerprint of what it was done for.
remember() { printf '%s\n' "$2" >"$STATE/$1"; }
remembers() { [[ -f $STATE/$1 && $(<"$STATE/$1") == "$2" ]]; }

# --- where things are ------------------------------------------------------------------------------------------------

# Outside the clone: a bench takes minutes to make and a gigabyte to keep, so a fresh clone must not need another one.
set_paths() {
	DIR=${JOB_ENGINE_SITE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/job-engine}
	mkdir -p "$DIR"
	DIR=$(cd "$DIR" && pwd -P)
	BENCH=$DIR/bench
	TOOLS=$DIR/tools # frappe-bench in a venv of its own, and yarn
	LOGS=$DIR/logs
	RUN=$DIR/run     # pid files and ports
	STATE=$DIR/state # what was done already
	DB=${JOB_ENGINE_SITE_DB:-mariadb}
	SITE=$(site_name "$DB") || {
		shout "JOB_ENGINE_SITE_DB is '$DB'; it can be mariadb or postgresql"
		exit 2
	}
	readonly DIR BENCH TOOLS LOGS RUN STATE DB SITE
	mkdir -p "$LOGS" "$RUN" "$STATE"
	PATH=$TOOLS/bin:$PATH
	# Each forked worker would compile Frappe again.
	unset PYTHONDONTWRITEBYTECODE
	# Bench would install with uv, which knows nothing of an index or a proxy that pip was told to use.
	export BENCH_DISABLE_UV=1
}

site_name() {
	case $1 in
	mariadb) echo job-engine.localhost ;;
	postgresql) echo job-engine-postgresql.localhost ;;
	*) return 1 ;;
	esac
}

# Both databases may have a site on the one bench, and its workers and its scheduler serve all of them.
databases_with_sites() {
	local database
	for database in mariadb postgresql; do
		if [[ $database == "$DB" || -e $STATE/$(site_name "$database").ready ]]; then echo "$database"; fi
	done
}

# The site's Administrator: a random password, because the loopback interface belongs to every user of the machine.
admin_password() {
	local file=$DIR/admin-password
	[[ -s $file ]] || (umask 077 && od -An -N12 -tx1 /dev/urandom | tr -d ' \n' >"$file")
	cat "$file"
}

bench() { (cd "$BENCH" && exec "$TOOLS/bin/bench" "$@"); }

# --- servers ---------------------------------------------------------------------------------------------------------

# Servers of the site's own, made by scripts/services: a test that flushes or stops them disturbs nobody else. A bench has
# two Redis servers, because a cache may forget and a queue should not; so has this one.
services() {
	local place=$1
	shift
	env -u JOB_ENGINE_TEST_POSTGRESQL -u JOB_ENGINE_TEST_MARIADB -u JOB_ENGINE_TEST_REDIS \
		JOB_ENGINE_SERVICES_DIR="$DIR/$place" "$ROOT/scripts/services" "$@"
}

# Answers "place service" for one of the names that the user sees.
server() {
	case $1 in
	redis-queue) echo services redis ;;
	redis-cache) echo cache redis ;;
	mariadb | postgresql) echo services "$1" ;;
	*) return 1 ;;
	esac
}

server_do() {
	local command=$1 place service
	read -r place service < <(server "$2")
	services "$place" "$command" "$service"
}

# Prints the address of a server that runs, as "scripts/services env" gives it.
server_url() {
	local line
	line=$(server_do env "$1") && [[ -n $line ]] && printf '%s' "${line#*=}"
}

# scripts/services chooses account, password and port: scheme://account:password@host:port/database
server_account() { sed -E 's|.*//([^:]*):.*|\1|' <<<"$1"; }
server_password() { sed -E 's|.*//[^:]*:([^@]*)@.*|\1|' <<<"$1"; }
server_port() { sed -E 's|.*:([0-9]+)/.*|\1|' <<<"$1"; }
