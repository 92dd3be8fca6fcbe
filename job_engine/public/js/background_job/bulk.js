// Retry and Cancel for many jobs: those that are checked, or all that match the list's filter, also beyond the page. A
// dialog shows what it means before anything happens.
const { call, escape, is_manager, keep_focus } = window.job_engine; // of job_engine.bundle.js

const SPREADS = [
	[0, () => __("All at once")],
	[60, () => __("Over 1 minute")],
	[600, () => __("Over 10 minutes")],
	[3600, () => __("Over 1 hour")],
	[6 * 3600, () => __("Over 6 hours")],
	[24 * 3600, () => __("Over 24 hours")],
];

const ACTIONS = {
	retry: {
		title: () => __("Retry Jobs"),
		label: () => __("Retry"),
		all: () => __("Retry All Matching"),
		do_it: (n) => __("Retry {0} Jobs", [n]),
		done: (n) => __("{0} jobs are retried.", [n]),
		none: () => __("None of them can be retried: only jobs that are in Dead Letter or were canceled can."),
	},
	cancel: {
		title: () => __("Cancel Jobs"),
		label: () => __("Cancel"),
		all: () => __("Cancel All Matching"),
		do_it: (n) => __("Cancel {0} Jobs", [n]),
		done: (n) => __("{0} jobs are canceled or were told to stop.", [n]),
		none: () => __("None of them can be canceled: they have all ended."),
	},
};

export function add_bulk_actions(listview) {
	if (!is_manager()) return;
	for (const action of ["retry", "cancel"]) {
		const words = ACTIONS[action];
		listview.page.add_actions_menu_item(words.label(), () => new BulkDialog(listview, action), false);
		listview.page.add_menu_item(words.all(), () => new BulkDialog(listview, action, true));
	}
}

class BulkDialog {
	constructor(listview, action, matching = false) {
		this.list = listview;
		this.action = action;
		this.words = ACTIONS[action];
		this.names = matching ? [] : listview.get_checked_items(true);
		this.filters = listview.get_filters_for_args();
		this.make();
		this.preview();
	}

	// What fails was already said by Frappe; the dialog stays, so that it can be tried again.
	async try(work) {
		try {
			await work();
		} catch {
			this.show(`<p>${escape(__("This did not work. Nothing that was done before is lost."))}</p>`);
			this.dialog.enable_primary_action();
		}
	}

	make() {
		const choices = [
			{ value: "checked", label: __("The {0} checked jobs", [this.names.length]) },
			{ value: "matching", label: __("All that match the list's filter") },
		];
		this.dialog = new frappe.ui.Dialog({
			title: this.words.title(),
			fields: [
				{
					fieldname: "which",
					fieldtype: "Select",
					label: __("Which Jobs"),
					options: this.names.length ? choices : choices.slice(1),
					default: this.names.length ? "checked" : "matching",
					change: () => this.preview(),
				},
				{ fieldname: "preview", fieldtype: "HTML" },
				this.action === "retry"
					? {
							fieldname: "spread",
							fieldtype: "Select",
							label: __("When"),
							options: SPREADS.map(([value, label]) => ({ value: String(value), label: label() })),
							default: "0",
							description: __("Spread over time, they do not all meet what made them fail at once."),
					  }
					: { fieldname: "reason", fieldtype: "Data", label: __("Reason") },
			],
			primary_action: () => this.try(() => this.run()),
			primary_action_label: this.words.label(),
		});
		keep_focus(this.dialog).show();
	}

	get chosen() {
		const checked = this.dialog.get_value("which") !== "matching" && this.names.length;
		return checked ? { names: JSON.stringify(this.names) } : { filters: JSON.stringify(this.filters) };
	}

	preview() {
		return this.try(() => this.count());
	}

	async count() {
		const asked = (this.asked = this.chosen);
		this.dialog.disable_primary_action();
		this.show(`<p class="text-muted">${escape(__("Counting"))} ...</p>`);
		const found = await call("desk.bulk.preview", { action: this.action, ...asked });
		if (this.asked !== asked) return; // another choice was made meanwhile
		this.show(this.preview_html(found));
		this.dialog.get_primary_btn().text(this.words.do_it(this.total_text(found)));
		if (found.total) this.dialog.enable_primary_action();
	}

	show(html) {
		this.dialog.fields_dict.preview.$wrapper.html(`<div class="je-preview">${html}</div>`);
	}

	total_text(found) {
		return `${format_number(found.total, null, 0)}${found.total_is_exact ? "" : "+"}`;
	}

	preview_html(found) {
		if (!found.total) return `<p>${escape(this.words.none())}</p>`;
		const left_out = found.left_out
			? `<p class="text-muted">${escape(
					__("{0} of the checked jobs are left out: their state does not allow it.", [found.left_out])
			  )}</p>`
			: "";
		const warning = found.not_idempotent.length
			? `<div class="je-warning" role="alert"><strong>${escape(__("Not idempotent"))}</strong> ${escape(
					__("These types may repeat what they have already done outside the database:")
			  )} ${groups_list(found.not_idempotent)}</div>`
			: "";
		return `<p class="je-preview-total"><strong>${escape(__("{0} jobs", [this.total_text(found)]))}</strong></p>
			${left_out}${this.action === "retry" ? warning : ""}
			${group_table(__("Error"), found.by_error)}
			${group_table(__("Organization"), found.by_organization)}
			${group_table(__("Type"), found.by_type)}`;
	}

	// Call by call, so that a long list shows how far it is, and closing the page loses nothing that was done.
	async run() {
		const args = { action: this.action, ...this.chosen };
		if (this.action === "retry") args.spread_seconds = Number(this.dialog.get_value("spread") || 0);
		else args.reason = this.dialog.get_value("reason") || "";
		this.dialog.disable_primary_action();
		let changed = 0;
		for (;;) {
			const done = await call("desk.bulk.run", args, { type: "POST" });
			changed += done.changed;
			if (!done.remaining || !done.changed) break;
			this.show(`<p>${escape(__("{0} so far", [format_number(changed, null, 0)]))} ...</p>`);
		}
		this.dialog.hide();
		frappe.show_alert({ message: escape(this.words.done(format_number(changed, null, 0))), indicator: "green" });
		this.list.clear_checked_items();
		this.list.last_args = null; // Frappe takes the same question within three seconds for a mistake
		this.list.refresh();
	}
}

function group_table(title, groups) {
	if (!groups.length) return "";
	const rows = groups.map(({ of, count }) => `<tr><td>${escape(of)}</td><td>${format_number(count, null, 0)}</td></tr>`);
	return `<table class="je-groups"><thead><tr><th>${escape(title)}</th><th>${escape(__("Jobs"))}</th></tr></thead>
		<tbody>${rows.join("")}</tbody></table>`;
}

function groups_list(groups) {
	return `<ul>${groups.map(({ of, count }) => `<li>${escape(of)}: ${format_number(count, null, 0)}</li>`).join("")}</ul>`;
}
