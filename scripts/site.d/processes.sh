# shellcheck shell=bash disable=SC2034,SC2153 # the parts of scripts/site share their names
# The bench's processes: started in a session of their own, on the loopback interface, with a pid file, a log whose lines
# carry the time, and a check that says when each of them really works.

readonly PROCESSES=(web socketio scheduler worker-1 worker-2)
readonly START_SECONDS=90
readonly STOP_SECONDS=20

log_file() { printf '%s' "$LOGS/$1.log"; }
recorded_port() { cat "$RUN/$1.port" 2>/dev/null; }

# --- ports -----------------------------------------------------------------------------------------------------------

default_port() {
	case $1 in
	web) echo 8088 ;;
	socketio) echo 9088 ;;
	esac
}

# The port of the last start if it is ours or free, or else the first free one from the default on.
choose_port() {
	local name=$1 port
	if running_pid "$name" >/dev/null; then return; fi
	port=$(recorded_port "$name") || port=$(default_port "$name")
	while port_is_taken "$port"; do port=$((port + 1)); done
	echo "$port" >"$RUN/$name.port"
}

# --- commands --------------------------------------------------------------------------------------------------------

# Sets COMMAND to what runs the process. All of them run in sites/, as bench runs them.
set_command() {
	case $1 in
	# The application "with statics" serves /assets and /files too: there is no nginx in front. DEV_SERVER tells the
	# browser to look for Socket.IO on its own port, for the same reason.
	web)
		COMMAND=(env DEV_SERVER=1 "$BENCH/env/bin/gunicorn" --bind "$HOST:$(recorded_port web)" --workers 2 --threads 4
			--timeout 120 --preload "frappe.app:application_with_statics()")
		;;
	# Frappe's server would listen on every interface.
	socketio) COMMAND=(node --require "$ROOT/scripts/site.d/loopback.js" "$BENCH/apps/frappe/socketio.js") ;;
	scheduler) COMMAND=("$TOOLS/bin/bench" schedule) ;;
	worker-*) COMMAND=("$TOOLS/bin/bench" worker --queue "short,default,long") ;;
	*) return 1 ;;
	esac
}

# --- running or not --------------------------------------------------------------------------------------------------

# A pid file outlives a crash, and its number may be somebody else's by now: the process must carry our mark.
running_pid() {
	local pid
	pid=$(cat "$RUN/$1.pid" 2>/dev/null) && is_alive "$pid" || return 1
	tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -qxF "JOB_ENGINE_SITE_PROCESS=$DIR $1" || return 1
	echo "$pid"
}

# It does its work, and not only exists.
works() {
	local name=$1 pid
	pid=$(running_pid "$name") || return 1
	case $name in
	web) curl -fsS -o /dev/null --max-time 20 -H "Host: $SITE" "http://$HOST:$(recorded_port web)/api/method/ping" ;;
	socketio) port_is_taken "$(recorded_port socketio)" ;;
	scheduler) true ;;
	worker-*) has_registered "$pid" ;;
	esac 2>/dev/null
}

# A worker that is ready has written its pid into Redis.
has_registered() {
	local queue worker
	queue=(redis-cli -h "$HOST" -p "$(server_port "$(server_url redis-queue)")")
	for worker in $("${queue[@]}" SMEMBERS rq:workers); do
		if [[ $("${queue[@]}" HGET "$worker" pid) == "$1" ]]; then return; fi
	done
	return 1
}

has_settled() { works "$1" || ! running_pid "$1" >/dev/null; }

# --- starting --------------------------------------------------------------------------------------------------------

# Web, workers and scheduler keep the code they have imported: job types of the tests are among it, the tests are not.
code_fingerprint() {
	local folders=(scripts/site.d)
	if has_app; then folders+=(job_engine); fi
	fingerprint "${folders[@]}" -not -name 'test_*.py' -not -path '*/__pycache__/*' -not -path '*/public/*'
}

# Without our files: an inherited pipe would keep "make site | tee" waiting, an inherited lock would stay locked.
launch() {
	local name=$1 log COMMAND
	log=$(log_file "$name")
	set_command "$name"
	(
		cd "$BENCH/sites" || exit
		exec 9>&- </dev/null >/dev/null 2>&1
		exec > >(stamp >>"$log") 2>&1
		echo "--- starting $name: ${COMMAND[*]}"
		export JOB_ENGINE_SITE_PROCESS="$DIR $name" PYTHONUNBUFFERED=1
		exec setsid "${COMMAND[@]}"
	) &
	echo $! >"$RUN/$name.pid"
}

start_processes() {
	local name started=() failed=0
	for name in "$@"; do
		if running_pid "$name" >/dev/null; then continue; fi
		launch "$name"
		started+=("$name")
	done
	for name in "${started[@]}"; do
		if wait_until "$START_SECONDS" has_settled "$name" && works "$name"; then
			say "$name started"
		else
			shout_with_log "$name did not start." "$(log_file "$name")"
			failed=1
		fi
	done
	return "$failed"
}

# --- stopping --------------------------------------------------------------------------------------------------------

# A worker lets its job finish when it is told once; told twice, it ends the job. What hears neither is killed, with
# everything in its session's process group.
stop_process() {
	local name=$1 pid
	if ! pid=$(running_pid "$name"); then return; fi
	kill -TERM "$pid" 2>/dev/null
	if ! wait_until "$STOP_SECONDS" has_ended "$pid"; then
		kill -TERM "$pid" 2>/dev/null
		if ! wait_until 5 has_ended "$pid"; then
			say "$name (pid $pid) did not stop when told to; killing it"
			kill -KILL -- "-$pid" 2>/dev/null
			wait_until 5 has_ended "$pid"
		fi
	fi
	say "$name stopped"
}

stop_processes() {
	local name pids=()
	for name in "$@"; do # they take their time side by side
		stop_process "$name" &
		pids+=($!)
	done
	((${#pids[@]} == 0)) || wait "${pids[@]}"
}
