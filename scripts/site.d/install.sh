# shellcheck shell=bash disable=SC2034,SC2153 # the parts of scripts/site share their names
# From a fresh Debian machine to a bench: packages, frappe-bench, yarn, Frappe 15 and its assets. Each step is done once.

readonly FRAPPE_URL=https://github.com/frappe/frappe.git
readonly FRAPPE_BRANCH=version-15
readonly REACH_SECONDS=60

install_bench() {
	if [[ -e $STATE/bench ]]; then return; fi
	# Before minutes of packages, where git can ask already.
	if have git; then source_is_reachable || return; fi
	install_packages || return
	source_is_reachable || return
	step "installing frappe-bench into $TOOLS" install_tools || return 1
	# What an interrupted attempt left behind is made again; only a complete bench has the mark.
	rm -rf "$BENCH"
	step "bench init: Frappe 15, its packages and its front end" init_bench || return 1
	step "installing what Frappe's test runner needs" install_test_packages || return 1
	step "building Frappe's assets" bench build --production || return 1
	remember bench "$FRAPPE_BRANCH"
}

# --- packages --------------------------------------------------------------------------------------------------------

# By the command and not by the package: somebody's own Node is as good as Debian's. A compiler is for what has no wheel.
missing_packages() {
	have git || echo git
	have node || echo nodejs
	has_yarn || have npm || echo npm
	have gcc || echo gcc
	have curl || echo curl
	python_can 'import ensurepip, venv' || echo python3-venv
	python_can 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' || echo python3-dev
}

python_can() { "$PYTHON" -c "$1" 2>/dev/null; }

install_packages() {
	local missing
	mapfile -t missing < <(missing_packages)
	((${#missing[@]})) || return 0
	if ! "$ROOT/scripts/services" can-install; then
		shout "not installed: ${missing[*]}" \
			"Neither root nor passwordless sudo with apt-get is available, so they cannot be installed here." \
			"Install them yourself, for example: sudo apt-get install ${missing[*]}"
		return "$CANNOT_HERE"
	fi
	step "installing ${missing[*]}" apt_install "${missing[@]}"
}

apt_install() {
	local apt=(as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
	"${apt[@]}" update || true # a stale index may still do
	"${apt[@]}" install -y --no-install-recommends "$@"
}

# --- Frappe's source -------------------------------------------------------------------------------------------------

source_is_reachable() {
	if GIT_TERMINAL_PROMPT=0 timeout "$REACH_SECONDS" \
		git ls-remote --exit-code --heads "$FRAPPE_URL" "$FRAPPE_BRANCH" >>"$LOGS/setup.log" 2>&1; then
		return
	fi
	shout "Frappe's source cannot be reached, so there is no site on this machine" \
		"git ls-remote $FRAPPE_URL $FRAPPE_BRANCH" \
		"said: $(tail -n 1 "$LOGS/setup.log")" \
		"With a network, run this again. With a copy of Frappe's repository, tell git to use it instead:" \
		"git config --global url.FILE_OR_URL.insteadOf $FRAPPE_URL"
	return "$CANNOT_HERE"
}

# --- tools -----------------------------------------------------------------------------------------------------------

has_yarn() { have yarn && [[ $(yarn --version 2>/dev/null) == 1.* ]]; }

install_tools() {
	"$PYTHON" -m venv "$TOOLS" || return
	"$TOOLS/bin/python" -m pip install --upgrade pip frappe-bench || return
	# Frappe's lock file is one of yarn 1. In our own folder: nobody asked for a yarn that everybody gets.
	has_yarn || npm install --global --prefix "$TOOLS" yarn@1.22
}

# --- the bench -------------------------------------------------------------------------------------------------------

# Frappe's packages import pkg_resources, which setuptools 81 no longer has; some of them also at build time.
old_setuptools() {
	echo 'setuptools<81' >"$DIR/constraints.txt"
	export PIP_CONSTRAINT=$DIR/constraints.txt PIP_BUILD_CONSTRAINT=$DIR/constraints.txt
}

# bench refuses root unless a configuration in the current folder says which user it may be.
init_bench() {
	local from=$DIR/init
	mkdir -p "$from/sites"
	printf '{"frappe_user": "%s"}\n' "$(id -un)" >"$from/sites/common_site_config.json"
	old_setuptools
	(
		cd "$from" &&
			"$TOOLS/bin/bench" init --python "$(command -v "$PYTHON")" --frappe-branch "$FRAPPE_BRANCH" \
				--skip-redis-config-generation --no-procfile --no-backups --skip-assets "$BENCH"
	) || return
	# bench reports some failures as success.
	[[ -x $BENCH/env/bin/gunicorn && -d $BENCH/apps/frappe/node_modules ]] || return
	bench_pip install 'setuptools<81'
}

# pytest runs the suite in tests/site; Frappe's own list is for "bench run-tests".
install_test_packages() {
	old_setuptools
	bench setup requirements --dev && bench_pip install 'pytest>=8' 'pytest-timeout>=2.3' 'playwright>=1.48'
}

bench_pip() { "$BENCH/env/bin/python" -m pip --disable-pip-version-check "$@"; }
