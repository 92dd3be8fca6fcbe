// The form of a job type: its last 24 hours, what is in force and who says so, and a test run.

frappe.ui.form.on("Job Type", {
	refresh(frm) {
		show_overview(frm);
		frm.add_custom_button(__("Jobs"), () => frappe.set_route("list", "background-job", { job_type: frm.doc.name }));
		if (job_engine.is_manager() && frm.doc.enabled) {
			frm.add_custom_button(__("Test Run"), () => test_run(frm));
		}
	},
});

async function show_overview(frm) {
	const name = frm.doc.name;
	const overview = await job_engine.call("desk.job_types.overview", { name }, { type: "GET" });
	if (name !== frm.doc.name) return;
	frm.fields_dict.overview_html.$wrapper.html(
		`<div class="je-type">${sparkline(overview.hours)}${policy_table(overview)}</div>`
	);
}

// One bar for each hour: what completed, what failed and is tried again, what went to Dead Letter.
function sparkline(hours) {
	const [width, height, kinds] = [240, 48, [["completed", "green"], ["failed", "orange"], ["dead_letters", "red"]]];
	const sum = (hour) => kinds.reduce((n, [kind]) => n + hour[kind], 0);
	const most = Math.max(1, ...hours.map(sum));
	const step = width / hours.length;
	const bars = hours.map((hour, i) => {
		let y = height;
		const parts = kinds.map(([kind, color]) => {
			const size = hour[kind] ? Math.max(1.5, (hour[kind] / most) * (height - 2)) : 0;
			y -= size;
			return `<rect x="${i * step}" y="${y}" width="${step - 1}" height="${size}" class="je-fill-${color}" />`;
		});
		const told = `${job_engine.full_time(hour.at)}: ${counted(hour)}`;
		return `<g><title>${job_engine.escape(told)}</title>${parts.join("")}
			<rect x="${i * step}" y="0" width="${step}" height="${height}" fill="transparent" /></g>`;
	});
	const total = { completed: 0, failed: 0, dead_letters: 0 };
	hours.forEach((hour) => kinds.forEach(([kind]) => (total[kind] += hour[kind])));
	const text = __("Last 24 hours: {0}", [counted(total)]);
	return `<figure class="je-spark"><svg role="img" aria-label="${job_engine.escape(text)}" width="${width}" height="${height}"
		viewBox="0 0 ${width} ${height}">${bars.join("")}</svg><figcaption class="text-muted">${job_engine.escape(
		text
	)}</figcaption></figure>`;
}

function counted({ completed, failed, dead_letters }) {
	return __("{0} completed, {1} failed attempts, {2} dead letters", [completed, failed, dead_letters]);
}

function policy_table({ policy, is_registered }) {
	if (!is_registered) {
		return `<p class="je-warning">${job_engine.escape(__("No app of this site registers this type any more."))}</p>`;
	}
	const words = policy_words();
	const rows = policy.map(({ word, code, override, effective }) => {
		const cells = [code, override, effective].map((value) => job_engine.escape(shown(value, word)));
		return `<tr class="${override === null ? "" : "je-overridden"}"><th scope="row">${job_engine.escape(
			words[word] || word
		)}</th><td>${cells[0]}</td><td>${override === null ? "" : cells[1]}</td><td><strong>${cells[2]}</strong></td></tr>`;
	});
	return `<div class="je-scroll"><table class="je-policy"><thead><tr><th></th><th>${__("Code")}</th><th>${__(
		"Override"
	)}</th><th>${__("In Force")}</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

function policy_words() {
	return {
		queue: __("Queue"),
		priority: __("Priority"),
		timeout: __("Timeout", null, "Job Type"),
		max_attempts: __("Max Attempts"),
		retry: __("Retry Policy"),
		dedup_window: __("Dedup Window"),
		commit: __("Commit", null, "Job Type"),
		concurrency: __("Concurrency"),
		rate: __("Rate", null, "Job Type"),
		isolation: __("Isolation"),
		idempotent: __("Idempotent"),
	};
}

// "60 s, then 2 times as long, at most 30 min"
function shown_retry({ kind, base, factor, cap, delays }) {
	const longest = cap ? __("at most {0}", [job_engine.duration(cap)]) : "";
	const steps = {
		exponential: () => __("{0}, then {1} times as long", [job_engine.duration(base), factor]),
		linear: () => __("{0} longer each time", [job_engine.duration(base)]),
		fixed: () => job_engine.duration(base),
	};
	if (delays?.length) return delays.map((seconds) => job_engine.duration(seconds)).join(", ");
	return steps[kind] ? [steps[kind](), longest].filter(Boolean).join(", ") : kind;
}

const SECONDS = ["timeout", "dedup_window"];
const CHOICES = ["priority", "commit", "isolation"]; // words of the doctype, which has translations of them

function shown(value, word) {
	if (value === null || value === undefined) return __("none", null, "Job Type");
	if (SECONDS.includes(word)) return value ? job_engine.duration(value) : __("none", null, "Job Type");
	if (typeof value === "boolean") return value ? __("Yes") : __("No");
	if (value.kind) return shown_retry(value);
	if (CHOICES.includes(word)) return __(value, null, "Job Type");
	return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function test_run(frm) {
	frappe.model.with_doctype("Background Job", () => {
		const options = frappe.meta.get_docfield("Background Job", "organization").options;
		const dialog = new frappe.ui.Dialog({
			title: __("Test Run of {0}", [job_engine.escape(frm.doc.name)]),
			fields: [
				{ fieldname: "organization", fieldtype: "Link", options, label: __("Organization"), reqd: 1, only_select: 1 },
				{
					fieldname: "params",
					fieldtype: "Code",
					options: "JSON",
					label: __("Parameters"),
					default: "{}",
					description: __("This is no rehearsal: the handler does what it does."),
				},
			],
			primary_action_label: __("Run"),
			primary_action({ organization, params }) {
				const args = { job_type: frm.doc.name, organization, params };
				job_engine.call("submit_job", args, { type: "POST" }).then((job) => {
					dialog.hide();
					job_engine.track(job);
				});
			},
		});
		job_engine.keep_focus(dialog).show();
	});
}
