// What the monitor lets people do: retry all dead letters of one cause, pause, resume.
job_engine.monitor.Dialogs = class {
	SPREADS = { 0: __("At once"), 600: __("Over 10 minutes"), 3600: __("Over an hour"), 21600: __("Over 6 hours") };

	constructor(monitor) {
		this.monitor = monitor;
	}

	// Retry

	async retry(cause) {
		const filters = { cause: cause.cause, ...(this.monitor.organization && { organization: this.monitor.organization }) };
		const { preview } = await job_engine.call("retry_jobs", { filters, preview: true });
		const dialog = new frappe.ui.Dialog({
			title: __("Retry {0} dead letters", [preview.total]),
			fields: [
				{ fieldname: "preview", fieldtype: "HTML", options: this.preview(cause, preview) },
				{
					fieldname: "spread",
					fieldtype: "Select",
					label: __("When"),
					default: "0",
					options: Object.entries(this.SPREADS).map(([value, label]) => ({ value, label })),
					description: __("Spread over time they do not all reach the other system at the same moment."),
				},
			],
			primary_action_label: __("Retry {0} jobs", [preview.total]),
			primary_action: async ({ spread }) => {
				dialog.disable_primary_action();
				await this.retry_all(filters, Number(spread), preview.total).finally(() => dialog.hide());
			},
		});
		job_engine.keep_focus(dialog).show();
	}

	preview(cause, preview) {
		const list = (title, counts) => `<h6>${title}</h6><ul>${Object.entries(counts)
			.map(([name, n]) => `<li>${job_engine.escape(name)} <span class="text-muted">${n}</span></li>`)
			.join("")}</ul>`;
		const warning = cause.is_idempotent
			? ""
			: `<div class="jm-warning" role="alert">${__("Not idempotent: {0} may repeat what it did outside the database.", [
					job_engine.escape(cause.job_type),
			  ])}</div>`;
		return `<div class="jm-preview"><p class="jm-error">${job_engine.escape(cause.error)}</p>${warning}
			${list(__("By organization"), preview.by_organization)}${list(__("By type"), preview.by_type)}</div>`;
	}

	// One call retries so many and tells how many are left.
	async retry_all(filters, spread_seconds, total) {
		let retried = 0;
		for (;;) {
			const done = await job_engine.call("retry_jobs", { filters, spread_seconds });
			retried += done.retried;
			if (!done.remaining || !done.retried) break;
			frappe.show_progress(__("Retrying"), retried, total);
		}
		frappe.hide_progress();
		frappe.show_alert({ message: __("{0} jobs are tried again.", [retried]), indicator: "green" });
		this.monitor.refresh();
	}

	// Pause and resume

	pause(scope, target) {
		const { is_operator, tenant_doctype } = this.monitor.data || {};
		const scopes = [
			{ value: "type", label: __("Job type") },
			{ value: "queue", label: __("Queue") },
			{ value: "organization", label: __("Organization") },
			{ value: "everything", label: __("Everything") },
		].filter((each) => is_operator || each.value === "organization");
		const only = (wanted) => `eval: doc.scope === '${wanted}'`;
		const field = (fieldname, fieldtype, label, options) => ({
			fieldname, fieldtype, label, options, depends_on: only(fieldname), mandatory_depends_on: only(fieldname),
			default: scope === fieldname ? target : undefined,
		});
		const dialog = new frappe.ui.Dialog({
			title: __("Pause"),
			fields: [
				{ fieldname: "scope", fieldtype: "Select", label: __("What"), options: scopes, reqd: 1, default: scope || scopes[0].value },
				field("type", "Link", __("Job type"), "Job Type"),
				field("queue", "Data", __("Queue")),
				field("organization", "Link", __("Organization"), tenant_doctype),
				{ fieldname: "reason", fieldtype: "Small Text", label: __("Reason"), description: __("Shown to everybody who asks where a job is.") },
			],
			primary_action_label: __("Pause"),
			primary_action: async (values) => {
				const args = { scope: values.scope, target: values[values.scope] || "", reason: values.reason || "" };
				await job_engine.call("pause", args);
				dialog.hide();
				this.monitor.refresh();
			},
		});
		job_engine.keep_focus(dialog).show();
	}

	async resume(scope, target) {
		await job_engine.call("resume", { scope, target });
		frappe.show_alert({ message: __("Resumed"), indicator: "green" });
		this.monitor.refresh();
	}
};
