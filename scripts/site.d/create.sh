# shellcheck shell=bash disable=SC2034,SC2153 # the parts of scripts/site share their names
# From a bench to a site with this clone's app: configuration, new-site, set-up wizard, install-app, migrate, assets.

create_site() {
	ensure_name_resolves "$SITE" || return
	write_common_config || return 1
	new_site_if_missing || return 1
	write_site_configs || return 1
	install_app || return 1
}

# Browsers know that *.localhost is the loopback interface; the C library, and so the Socket.IO server, may not.
ensure_name_resolves() {
	if getent ahostsv4 "$1" | grep -q '^127\.'; then return; fi
	local line="$HOST $1"
	if is_root || sudo -n true 2>/dev/null; then
		say "adding '$line' to /etc/hosts"
		echo "$line" | as_root tee -a /etc/hosts >/dev/null
	else
		shout "$1 does not resolve to $HOST" "Add this line to /etc/hosts, then run this again:" "$line"
		return "$CANNOT_HERE"
	fi
}

# --- configuration ---------------------------------------------------------------------------------------------------

set_config() { "$PYTHON" "$ROOT/scripts/site.d/set_config.py" "$@"; }

# Ports may differ from the last start, so this is written each time.
write_common_config() {
	local queue cache
	queue=$(server_url redis-queue) && cache=$(server_url redis-cache) || return
	set_config "$BENCH/sites/common_site_config.json" \
		frappe_user="\"$(id -un)\"" \
		redis_queue="\"${queue%/0}\"" redis_socketio="\"${queue%/0}\"" redis_cache="\"${cache%/0}\"" \
		webserver_port="$(recorded_port web)" socketio_port="$(recorded_port socketio)" \
		default_site="\"$SITE\"" developer_mode=0 server_script_enabled=false live_reload=false
}

# The tests' own job types, and a queue of theirs that no worker of the bench serves.
write_site_configs() {
	local database site
	for database in $(databases_with_sites); do
		site=$(site_name "$database")
		set_config "$BENCH/sites/$site/site_config.json" \
			db_host="\"$HOST\"" db_port="$(server_port "$(server_url "$database")")" \
			host_name="\"$(site_url "$site")\"" allow_tests=true throttle_user_limit=100000 \
			job_types='["job_engine.tests.site.jobs"]' workers='{"in_process": {"timeout": 300}, "job_engine_tests": {"timeout": 300}}'
	done
}

site_url() { echo "http://$1:$(recorded_port web)"; }

# --- the site --------------------------------------------------------------------------------------------------------

# The mark names the server's password, which is made with the server's data: a site whose database is gone is made again.
new_site_if_missing() {
	local url
	url=$(server_url "$DB") || return
	local mark
	mark=$(server_password "$url" | sha256sum | cut -c1-16)
	if remembers "$SITE.ready" "$mark"; then return; fi
	rm -f "$STATE/$SITE".*
	step "creating the site $SITE on $DB" new_site "$url" || return 1
	step "running the set-up wizard of $SITE" run_wizard || return 1
	remember "$SITE.ready" "$mark"
}

new_site() {
	local url=$1
	bench new-site "$SITE" --force \
		--db-type "${DB/postgresql/postgres}" --db-host "$HOST" --db-port "$(server_port "$url")" \
		--db-root-username "$(server_account "$url")" --db-root-password "$(server_password "$url")" \
		--admin-password "$(admin_password)"
}

# Without the wizard Desk has no navbar. Its user takes the place of the first System User, whom Frappe makes a System
# Manager without a word: users that a test creates are then what the test says they are.
run_wizard() {
	bench --site "$SITE" execute frappe.desk.page.setup_wizard.setup_wizard.setup_complete --kwargs "{'args': {
		'language': 'English', 'country': 'United States', 'timezone': 'America/New_York', 'currency': 'USD',
		'full_name': 'Site Manager', 'email': 'manager@example.com', 'password': '$(admin_password)',
		'enable_telemetry': 0}}" &&
		bench --site "$SITE" enable-scheduler
}

# --- the app ---------------------------------------------------------------------------------------------------------
# "bench get-app" clones, and a clone has no uncommitted change. Here the bench's app IS this working tree: a link in
# apps/, an editable install, a line in apps.txt.

has_app() { [[ -f $ROOT/job_engine/hooks.py ]]; }

install_app() {
	if ! has_app; then
		say "job_engine/hooks.py is not there, so the site is plain Frappe"
		return
	fi
	link_app || return 1
	migrate_app || return 1
	build_app || return 1
}

link_app() {
	local link=$BENCH/apps/job_engine packages
	if [[ -e $link && ! -L $link ]]; then
		shout "$link is not a link to a clone: somebody ran 'bench get-app'" "Remove it with: scripts/site run remove-app job_engine"
		return 1
	fi
	ln -sfn "$ROOT" "$link"
	packages=$(fingerprint pyproject.toml setup.py)
	if ! remembers app.packages "$packages"; then
		step "installing the app from $ROOT" bench_pip install -e "$ROOT" || return 1
		remember app.packages "$packages"
	fi
	grep -qx job_engine "$BENCH/sites/apps.txt" || printf '\njob_engine\n' >>"$BENCH/sites/apps.txt"
	sed -i '/^$/d' "$BENCH/sites/apps.txt"
}

# Everything that install-app and migrate read: hooks (scheduled jobs among them), patches, fixtures, doctypes.
schema_fingerprint() {
	fingerprint job_engine/hooks.py job_engine/install.py job_engine/modules.txt job_engine/patches.txt \
		job_engine/patches job_engine/fixtures job_engine/job_engine job_engine/store -not -path '*/__pycache__/*'
}

migrate_app() {
	local schema
	schema=$(schema_fingerprint)
	if remembers "$SITE.schema" "$schema"; then return; fi
	step "bringing $SITE up to date with the app" install_and_migrate || return 1
	remember "$SITE.schema" "$schema"
}

# The cache first: Frappe keeps the list of all apps' modules there, and with a list from before the app was linked
# install-app succeeds without creating a single table. It does nothing where the app is installed; list-apps is no way
# to find out, because it answers from a table that only migrate and uninstall-app write.
install_and_migrate() {
	bench --site "$SITE" clear-cache &&
		bench --site "$SITE" install-app job_engine &&
		bench --site "$SITE" migrate
}

build_app() {
	local assets
	assets=$(fingerprint job_engine/public -not -path '*/dist/*')
	if remembers app.assets "$assets"; then return; fi
	step "building the app's assets" bench build --production --app job_engine || return 1
	remember app.assets "$assets"
}
