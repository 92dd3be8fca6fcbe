// The list of jobs. Every cell is made here: Frappe's own puts a link's name into an attribute as it is.

frappe.listview_settings["Background Job"] = {
	add_fields: ["max_attempts", "progress_message", "priority", "cancel_requested_at", "user", "blockers"],
	hide_name_column: true,

	get_indicator(doc) {
		return [doc.status, job_engine.status_color(doc.status), `status,=,${doc.status}`];
	},

	formatters: {
		organization: (value) => filter_link("organization", value),
		progress: (value, df, doc) => progress_cell(doc),
		attempts: (value, df, doc) => attempts_cell(doc),
		run_after: (value, df, doc) => next_try_cell(doc),
		creation: (value) => job_engine.time_html(value, "age"),
	},

	onload(listview) {
		tell_bounds(listview);
		if (listview.view_name !== "List") return; // a report is Frappe's own
		add_age_column(listview);
		leave_room_for_columns(listview);
		add_views(listview);
		frappe.require("background_job_list.bundle.js", () => {
			job_engine.add_bulk_actions(listview);
			job_engine.keep_list_live(listview);
		});
	},

	refresh(listview) {
		if (listview.view_name === "List") mark_view(listview);
	},
};

// Cells --------------------------------------------------------------------------------------------------------------

function filter_link(field, value) {
	const text = job_engine.escape(value);
	return `<a class="filterable ellipsis" data-filter="${field},=,${text}" title="${text}">${text}</a>`;
}

function progress_cell(doc) {
	if (doc.status !== "Running") return "";
	const percent = Math.round(doc.progress || 0);
	return `<span class="je-cell-progress" title="${job_engine.escape(doc.progress_message || `${percent} %`)}">
		${job_engine.progress_bar(percent)}</span>`;
}

function attempts_cell(doc) {
	return job_engine.escape(__("{0} of {1}", [doc.attempts || 0, doc.max_attempts || 0]));
}

function next_try_cell(doc) {
	if (!["Pending", "Failed", "Timed Out"].includes(doc.status)) return "";
	if (doc.status === "Pending" && doc.blockers) return job_engine.escape(__("after another"));
	return job_engine.time_html(doc.run_after, "due");
}

// How old a job is: `creation` is a column of every document and can be sorted by, but a doctype cannot list it.
function add_age_column(listview) {
	const setup_columns = listview.setup_columns;
	listview.setup_columns = function () {
		setup_columns.call(this);
		for (const column of this.columns) {
			if (column.df?.fieldname === "run_after") column.df = { ...column.df, label: __("Next Try") };
			if (column.type === "Status") column.df ||= frappe.meta.get_docfield("Background Job", "status"); // to sort by it
		}
		this.columns.push({ type: "Field", df: { label: __("Age"), fieldname: "creation" } });
	};
	listview.setup_columns();
	listview.render_header(true);
}

// Likes and comments are for documents that people write. On a phone, where there are no columns, the state stays.
function leave_room_for_columns(listview) {
	listview.get_meta_html = (doc) => `<div class="level-item visible-xs text-right">${listview.get_indicator_html(doc)}</div>`;
}

// What is left out, and why: a list that is sorted or searched in part must not look like all there is.
function tell_bounds(listview) {
	const $note = $(`<div class="je-bounds text-muted" role="status"><span></span> </div>`).hide();
	$(`<button type="button" class="btn btn-link btn-xs"></button>`)
		.text(__("Search all jobs"))
		.on("click", () => listview.filter_area.add([["Background Job", "creation", ">", "2000-01-01"]]))
		.appendTo($note);
	listview.$frappe_list.before($note);
	const prepare_data = listview.prepare_data;
	listview.prepare_data = function (r) {
		prepare_data.call(this, r);
		const { sorted, searched } = r.bounded || {};
		const notes = [
			searched && __("Searched among the newest {0} jobs.", [format_number(searched, null, 0)]),
			sorted && __("Sorted among the newest {0} that match.", [format_number(sorted, null, 0)]),
			sorted && __("Sort by age, and filter by type, organization, status or time, to see all."),
		];
		$note.find("span").text(notes.filter(Boolean).join(" "));
		$note.find("button").toggle(Boolean(searched));
		$note.toggle(Boolean(r.bounded));
	};
}

// Views --------------------------------------------------------------------------------------------------------------
// Buttons rather than saved List Filters: "Mine" is another filter for everybody, and these cannot be deleted by accident.

function views() {
	return {
		all: { label: __("All"), filters: [] },
		dead_letter: { label: __("Dead Letter"), filters: [["status", "=", "Dead Letter"]] },
		running: { label: __("Running"), filters: [["status", "=", "Running"]] },
		waiting: { label: __("Waiting"), filters: [["status", "in", job_engine.WAITING]] },
		mine: { label: __("Mine"), filters: [["user", "=", frappe.session.user]] },
	};
}

function add_views(listview) {
	const $views = $(`<div class="je-views" role="group" aria-label="${job_engine.escape(__("Views of the list"))}"></div>`);
	for (const [name, view] of Object.entries(views())) {
		$(`<button type="button" class="btn btn-default btn-xs" data-view="${name}"></button>`)
			.text(view.label)
			.on("click", () => show_view(listview, view))
			.appendTo($views);
	}
	listview.$frappe_list.before($views);
	listview.$je_views = $views;
}

async function show_view(listview, view) {
	await listview.filter_area.clear(false);
	await listview.filter_area.set(view.filters.map((filter) => ["Background Job", ...filter]));
	listview.start = 0;
	listview.refresh();
}

function mark_view(listview) {
	const shown = JSON.stringify(as_parts(listview.filter_area.get()));
	for (const [name, view] of Object.entries(views())) {
		const is_shown = JSON.stringify(as_parts(view.filters.map((filter) => ["", ...filter]))) === shown;
		listview.$je_views
			?.find(`[data-view="${name}"]`)
			.toggleClass("active", is_shown)
			.attr("aria-pressed", String(is_shown));
	}
}

function as_parts(filters) {
	return filters.map(([, field, operator, value]) => [field, operator, [].concat(value).map(String).sort()]);
}
