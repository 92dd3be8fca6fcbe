// What the monitor shows beside its charts. Whatever users and handlers wrote goes through job_engine.escape.
job_engine.monitor.Panels = class {
	constructor(monitor) {
		this.monitor = monitor;
		this.body = monitor.body;
		this.make();
		this.body.on("click", "[data-do]", (event) => this.act(event.currentTarget));
	}

	make() {
		const section = (name, title, extra = "") => `<section class="jm-panel jm-${name}" aria-label="${title}">
			<h2>${title}<span class="jm-note" data-note="${name}"></span></h2>${extra}<div data-panel="${name}"></div></section>`;
		const chart = (name, title) => `<div class="jm-chart" data-chart="${name}" role="img" aria-label="${title}"></div>`;
		const chart_section = (name, title) => section(name, title, chart(name, title));
		this.body.html(`
			<div class="jm-head">
				<div class="btn-group jm-spans" role="group" aria-label="${__("Time range")}"></div>
				<div class="jm-organization"></div>
				<div class="jm-live" role="status"><span class="indicator-pill gray">${__("Loading")}</span></div>
			</div>
			<div class="jm-pauses" data-panel="pauses"></div>
			<div class="jm-tiles" data-panel="tiles"></div>
			<div class="jm-grid">
				${chart_section("throughput", __("Throughput"))}
				${chart_section("priorities", __("Due and waiting, by priority"))}
			</div>
			<div class="jm-grid jm-even">
				${chart_section("seconds", __("Wait and duration, in seconds"))}
				${section("types", __("By job type"))}
			</div>
			${section("causes", __("Dead letters, by cause"))}
			<div class="jm-grid jm-right">
				${section("workers", __("Workers"))}
				${section("ledger", __("By organization"))}
			</div>`);
		this.make_spans();
	}

	make_spans() {
		for (const [span, label] of Object.entries(job_engine.monitor.SPANS)) {
			$(`<button type="button" class="btn btn-default btn-sm" data-do="span" data-span="${span}">${label}</button>`).appendTo(
				this.body.find(".jm-spans")
			);
		}
		this.mark_span(this.monitor.span);
	}

	mark_span(span) {
		this.body.find(".jm-spans button").each((_, button) => {
			const is_chosen = button.dataset.span === span;
			$(button).toggleClass("active", is_chosen).attr("aria-pressed", String(is_chosen));
		});
	}

	// Who may see several organizations can look at one of them.
	make_organization(data) {
		if (this.organization || (!data.is_operator && data.rooms.length < 2)) return;
		const label = __("All organizations");
		this.organization = frappe.ui.form.make_control({
			parent: this.body.find(".jm-organization"),
			only_input: true,
			render_input: true,
			df: {
				fieldname: "organization",
				fieldtype: data.is_operator ? "Link" : "Select",
				options: data.is_operator ? data.tenant_doctype : [{ value: "", label }, ...data.rooms.map(([, name]) => name)],
				placeholder: label,
				change: () => {
					const chosen = this.organization.get_value() || "";
					if (chosen !== (this.monitor.organization || "")) this.monitor.choose_organization(chosen);
				},
			},
		});
		this.organization.$input.attr("aria-label", label);
	}

	act(element) {
		const { do: what, span, cause, scope, target } = element.dataset;
		const { dialogs, data } = this.monitor;
		if (what === "span") this.monitor.choose_span(span);
		if (what === "retry") dialogs.retry(data.dead_letters.causes.find((each) => each.cause === cause));
		if (what === "pause") dialogs.pause(scope, target);
		if (what === "resume") dialogs.resume(scope, target);
	}

	render(data) {
		this.make_organization(data);
		this.put("pauses", data.pauses.map((pause) => this.pause(pause)).join(""));
		this.put("tiles", this.tiles(data));
		this.put("types", this.types(data));
		this.put("causes", this.causes(data));
		this.put("workers", this.workers(data));
		this.put("ledger", this.ledger(data));
		this.note("seconds", __("95 of 100 jobs took no longer"));
		this.show_live("green", __("Live"));
	}

	// Left alone where nothing has changed: a focus or a selection in it stays.
	put(panel, html) {
		const place = this.body.find(`[data-panel="${panel}"]`);
		if (place.data("html") === html) return;
		const focused = place.find(document.activeElement).index("[data-panel] button, [data-panel] a");
		place.html(html).data("html", html);
		if (focused >= 0) $("[data-panel] button, [data-panel] a").eq(focused).trigger("focus");
	}

	note(panel, text) {
		this.body.find(`[data-note="${panel}"]`).text(text);
	}

	show_live(color, text) {
		const at = frappe.datetime.now_time();
		this.body
			.find(".jm-live")
			.html(`<span class="indicator-pill ${color}">${job_engine.escape(text)}</span>`)
			.attr("title", __("As of {0}", [at]));
	}

	show_trouble(status) {
		const text = status === 403 ? __("Not permitted") : __("No answer from the server; trying again");
		this.show_live("red", text);
	}

	// The numbers on top

	tiles(data) {
		const s = data.summary;
		const jobs = (statuses) => `/app/background-job?status=${encodeURIComponent(statuses)}`;
		const waiting = s.queued + s.scheduled + s.to_be_retried;
		const oldest = s.oldest
			? __("oldest {0}", [`<a href="/app/background-job/${s.oldest.name}">${this.duration(s.oldest.seconds)}</a>`])
			: __("nothing is due");
		const of_them = __("{0} later, {1} to be tried again", [this.number(s.scheduled), this.number(s.to_be_retried)]);
		const alive = data.workers.filter((worker) => !worker.is_silent).length;
		const dead = data.dead_letters.total;
		const more = data.dead_letters.total_is_exact ? "" : "+";
		const listening = Math.max(0, ...Object.values(data.listening || {}));
		return [
			this.tile("completed", __("Completed"), this.number(s.completed), __("{0} a minute", [this.decimal(s.per_minute)])),
			this.tile("failures", __("Failure rate"), this.percent(s.failure_rate), __("{0} attempts failed", [this.number(s.failed_attempts)])),
			this.tile("wait", __("Wait p50 / p95"), `${this.duration(s.wait_p50)} / ${this.duration(s.wait_p95)}`, __("from due to started")),
			this.tile("duration", __("Duration p50 / p95"), `${this.duration(s.duration_p50)} / ${this.duration(s.duration_p95)}`, __("of what completed")),
			this.tile("waiting", __("Waiting"), `${this.number(waiting)}`, `${oldest}, ${of_them}`),
			this.tile("running", __("Running"), `<a href="${jobs("Running")}">${this.number(s.running)}</a>`,
				data.is_operator ? __("{0} runners, {1} bench workers", [alive, listening]) : __("{0} runners", [alive])),
			this.tile("dead", __("Dead letters"), `<a href="${jobs("Dead Letter")}">${this.number(dead)}${more}</a>`,
				__("{0} causes", [data.dead_letters.causes.length + data.dead_letters.more_causes]), dead ? "jm-red" : ""),
		].join("");
	}

	tile(name, title, value, note, style = "") {
		return `<div class="jm-tile ${style}" data-tile="${name}"><div class="jm-title">${title}</div>
			<div class="jm-value">${value}</div><div class="jm-small">${note}</div></div>`;
	}

	// Tables

	// Can be reached by Tab, so that the arrow keys scroll it where it is wider than the page.
	table(title, headings, rows, empty) {
		if (!rows.length) return `<div class="jm-empty">${empty}</div>`;
		const head = headings.map(([label, style]) => `<th scope="col" class="${style || ""}">${label}</th>`).join("");
		return `<div class="jm-scroll" tabindex="0" role="region" aria-label="${title}"><table class="jm-table"><thead><tr>${head}</tr></thead>
			<tbody>${rows.join("")}</tbody></table></div>`;
	}

	types({ types, is_operator, pauses }) {
		const paused = new Set(pauses.filter((pause) => pause.scope === "type").map((pause) => pause.target));
		const rows = types.map(
			(row) => `<tr data-type="${job_engine.escape(row.job_type)}">
				<td>${this.link("job-type", row.job_type)}</td>
				<td class="jm-n">${this.number(row.attempts)}</td>
				<td class="jm-n">${this.rate(row)}</td>
				<td class="jm-n">${this.duration(row.duration_p50)} / ${this.duration(row.duration_p95)}</td>
				<td class="jm-n">${is_operator && !paused.has(row.job_type) ? this.pause_button("type", row.job_type) : ""}</td></tr>`
		);
		const headings = [[__("Type")], [__("Attempts"), "jm-n"], [__("Failed"), "jm-n"], [__("Duration p50 / p95"), "jm-n"], [""]];
		return this.table(__("By job type"), headings, rows, __("No attempt has ended in this time."));
	}

	rate(row) {
		const color = row.failure_rate > 0.1 ? "red" : row.failure_rate > 0.02 ? "orange" : "green";
		return `<span class="jm-rate jm-${color}"><i style="width: ${Math.round(100 * row.failure_rate)}%"></i></span>
			${this.percent(row.failure_rate)}`;
	}

	causes({ dead_letters }) {
		const rows = dead_letters.causes.map((row) => {
			const label = row.count > 1 ? __("Retry all") : __("Retry");
			return `<tr data-cause="${row.cause}">
				<td class="jm-n jm-count">${this.number(row.count)}</td>
				<td>${this.link("job-type", row.job_type)}</td>
				<td class="jm-error">${job_engine.escape(row.error)}</td>
				<td>${row.organizations.map((name) => job_engine.escape(name)).join(", ")}</td>
				<td>${job_engine.time_html(row.last_at)}</td>
				<td class="jm-n">${job_engine.job_link(row.example, __("Example"))}
				<button type="button" class="btn btn-xs btn-default" data-do="retry" data-cause="${row.cause}"
					aria-label="${job_engine.escape(`${label}: ${row.job_type}, ${row.error}`)}">${label}</button></td></tr>`;
		});
		this.note("causes", dead_letters.total_is_exact ? "" : __("the newest {0}", [this.number(dead_letters.total)]));
		const headings = [[__("Jobs"), "jm-n"], [__("Type")], [__("Cause")], [__("Organizations")], [__("Last")], [""]];
		const more = dead_letters.more_causes ? __("{0} more causes", [dead_letters.more_causes]) : "";
		return this.table(__("Dead letters, by cause"), headings, rows, __("No job needs you.")) + (more ? `<div class="jm-small">${more}</div>` : "");
	}

	workers(data) {
		const rows = data.workers.map((worker) => {
			const name = data.is_operator ? worker.name : __("Worker {0}", [worker.name]);
			const state = worker.is_silent ? `<span class="indicator-pill red">${__("silent")}</span>` : "";
			return `<tr data-worker="${job_engine.escape(worker.name)}"><td><span class="jm-worker">${job_engine.escape(name)}</span> ${state}</td>
				<td>${this.running(worker.running)}</td></tr>`;
		});
		const listening = data.listening
			? Object.entries(data.listening).map(([queue, n]) => `${job_engine.escape(queue)} ${n}`).join(", ")
			: "";
		this.note("workers", listening ? __("bench workers by queue: {0}", [frappe.utils.unescape_html(listening)]) : "");
		const empty = data.is_operator
			? data.listening === null
				? __("Redis cannot be reached: bench workers are not told of new jobs.")
				: __("No runner is at work. Bench workers start one when there is a job.")
			: __("None of your jobs runs.");
		return this.table(__("Workers"), [[__("Worker")], [__("Runs")]], rows, empty);
	}

	running(jobs) {
		if (!jobs.length) return `<span class="text-muted">${__("nothing")}</span>`;
		const shown = jobs.slice(0, 3).map(
			(job) => `<div class="jm-job">${job_engine.job_link(job.name, job.job_type)}
				<span class="text-muted">${job_engine.escape(job.organization)}</span>
				${job_engine.progress_bar(job.progress, job.job_type)}
				<span class="jm-small">${job_engine.escape(job.progress_message)} ${job_engine.time_html(job.started_at, "age")}</span></div>`
		);
		return shown.join("") + (jobs.length > 3 ? `<div class="jm-small">${__("and {0} more", [jobs.length - 3])}</div>` : "");
	}

	ledger({ organizations, pauses }) {
		const paused = new Set(pauses.filter((pause) => pause.scope === "organization").map((pause) => pause.target));
		const rows = organizations.map(
			(row) => `<tr data-organization="${job_engine.escape(row.organization)}">
				<td>${job_engine.escape(row.organization)}</td>
				<td class="jm-n">${this.number(row.completed)}</td>
				<td class="jm-n">${this.number(row.failed_attempts)}</td>
				<td class="jm-n" title="${__("{0} s", [this.number(Math.round(row.worker_seconds))])}">${this.duration(row.worker_seconds)}</td>
				<td class="jm-n">${this.duration(row.wait_p95)}</td>
				<td class="jm-n">${this.number(row.waiting)}</td>
				<td class="jm-n">${this.number(row.running)}</td>
				<td class="jm-n">${paused.has(row.organization) ? "" : this.pause_button("organization", row.organization)}</td></tr>`
		);
		const headings = [
			[__("Organization")], [__("Completed"), "jm-n"], [__("Failed"), "jm-n"], [__("Worker time"), "jm-n"],
			[__("Wait p95"), "jm-n"], [__("Waiting"), "jm-n"], [__("Running"), "jm-n"], [""],
		];
		return this.table(__("By organization"), headings, rows, __("Nothing was done in this time."));
	}

	// Pauses

	pause({ scope, target, at, by, reason, may_resume }) {
		const names = { type: __("Type {0}"), queue: __("Queue {0}"), organization: __("Organization {0}") };
		const what = scope === "everything" ? __("Everything") : names[scope].replace("{0}", job_engine.escape(target));
		const details = [by && __("by {0}", [job_engine.escape(by)]), at && job_engine.time_html(at), job_engine.escape(reason)];
		return `<div class="jm-pause" data-scope="${scope}" data-target="${job_engine.escape(target)}">
			<span class="indicator-pill orange">${__("Paused")}</span> <b>${what}</b>
			<span class="jm-small">${details.filter(Boolean).join(" · ")}</span>
			${may_resume ? this.button("resume", scope, target, __("Resume")) : ""}</div>`;
	}

	pause_button(scope, target) {
		return this.button("pause", scope, target, __("Pause"), "jm-quiet");
	}

	button(what, scope, target, label, style = "") {
		const name = job_engine.escape(target);
		return `<button type="button" class="btn btn-xs btn-default ${style}" data-do="${what}" data-scope="${scope}"
			data-target="${name}" aria-label="${label} ${name}">${label}</button>`;
	}

	// Values

	link(route, name) {
		return `<a href="/app/${route}/${encodeURIComponent(name)}">${job_engine.escape(name)}</a>`;
	}

	number(value) {
		return job_engine.number(value);
	}

	decimal(value) {
		return job_engine.number(value, value < 10 ? 1 : 0);
	}

	percent(share) {
		if (share === null || share === undefined) return "–";
		return `${job_engine.number(100 * share, 1)} %`;
	}

	duration(seconds) {
		return seconds === null || seconds === undefined ? "–" : job_engine.duration(seconds);
	}
};
