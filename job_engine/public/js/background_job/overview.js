// The top of the form: one sentence, how far it is, the picture of its attempts, its error, its relatives.
const { escape, job_link, progress_bar, status_color, status_pill, full_time, relative, time_html, is_openable } =
	window.job_engine; // of job_engine.bundle.js

const MOST_RELATIVES = 6;

export function overview_html(job, history) {
	return `<div class="je-job">
		<p class="je-sentence je-line-${status_color(job.status)}">${status_pill(job.status)}
			<span class="je-explanation">${explanation_html(job.explanation)}</span></p>
		${job.status === "Running" ? `<div class="je-progress">${progress_html(job)}</div>` : ""}
		${facts_html(job)}
		${error_html(job)}
		${family_html(job)}
		<div class="je-timeline"></div>
		${changes_html(history)}
	</div>`;
}

const UTC = /\b(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC\b/g;

// The engine says every time in UTC; here it is in the zone of whoever looks, as everywhere in Desk.
function explanation_html(text) {
	return escape(text).replace(UTC, (utc, day, time) => {
		const at = `${day}T${time}Z`;
		return `<time datetime="${at}" title="${utc}">${escape(full_time(at))}</time>`;
	});
}

export function progress_html(job) {
	const percent = Math.round(job.progress || 0);
	return `${progress_bar(percent)}<span class="je-progress-text" role="status">${percent} %
		${escape(job.progress_message || "")}</span>`;
}

// What Frappe's own fields would show as HTML where the user may not read the linked doctype, and so they are not used.
function facts_html(job) {
	const facts = [
		[__("Job Type"), `<a href="/app/job-type/${encodeURIComponent(job.job_type)}">${escape(job.job_type)}</a>`],
		[__("Organization"), escape(job.organization || "")],
		[__("User"), escape(job.user || "")],
		[__("Created"), time_html(job.creation)],
		[__("Canceled by"), escape(job.canceled_by || "")],
		[__("Result"), job.status === "Completed" ? output_link(job.output_reference) : ""],
	];
	const shown = facts.filter(([, html]) => html).map(([word, html]) => `<div><dt>${escape(word)}</dt><dd>${html}</dd></div>`);
	return `<dl class="je-facts">${shown.join("")}</dl>`;
}

// Written by a handler: opened only where it is a file of this site or a web address.
function output_link(output) {
	if (!is_openable(output)) return escape(output || "");
	return `<a href="${escape(encodeURI(output))}" target="_blank" rel="noopener">${escape(output)}</a>`;
}

function error_html(job) {
	if (!job.last_error) return "";
	const [summary, ...rest] = job.last_error.split("\n");
	const kind = job.error_type ? `<span class="text-muted">${escape(__(job.error_type))}</span>` : "";
	const past = ["Completed", "Running", "Queued", "Pending"].includes(job.status);
	const more = rest.join("\n").trim();
	const folded = [more, job.traceback].filter(Boolean).join("\n\n");
	return `<section class="je-error ${past ? "je-past" : ""}" aria-label="${escape(__("Error"))}">
		<div><strong>${escape(past ? __("Last error") : __("Error"))}</strong> ${kind}</div>
		<pre class="je-error-summary">${escape(summary)}</pre>
		${
			folded
				? `<details class="je-traceback"><summary>${escape(__("Traceback", null, "Background Job"))}</summary><pre>${escape(
						folded
				  )}</pre></details>`
				: ""
		}
	</section>`;
}

// Parents on the left, dependents on the right; on a phone one below the other.
function family_html(job) {
	if (!job.parents.length && !job.dependents.length) return "";
	const own = `<div class="je-relative je-own je-line-${status_color(job.status)}">${escape(job.job_type)}
		${status_pill(job.status)}</div>`;
	return `<section class="je-family" aria-label="${escape(__("Parents and dependents"))}">
		${column(__("Depends on"), job.parents)}${column("", null, own)}${column(__("Dependents"), job.dependents)}
	</section>`;
}

function column(title, relatives, own = "") {
	if (relatives && !relatives.length) return "";
	const shown = (relatives || [])
		.slice(0, MOST_RELATIVES)
		.map((each) => {
			const line = `je-line-${status_color(each.status)}`;
			return `<div class="je-relative ${line}">${job_link(each.name, each.job_type)} ${status_pill(each.status)}</div>`;
		});
	const more = (relatives || []).length - shown.length;
	const rest = more > 0 ? `<div class="text-muted">${escape(__("and {0} more", [more]))}</div>` : "";
	return `<div class="je-column"><div class="text-muted ${title ? "" : "je-untitled"}">${escape(title)}&nbsp;</div>${own}${shown.join("")}${rest}</div>`;
}

// The picture in words, for whoever wants to know exactly, or cannot see it.
function changes_html(history) {
	const rows = [...history].reverse().map(
		(entry) => `<tr><td title="${escape(entry.at)}">${escape(full_time(entry.at))}<br>
			<span class="text-muted">${escape(relative(entry.at))}</span></td>
			<td>${status_pill(entry.to_status)}</td><td>${escape(entry.actor || "")}</td>
			<td>${escape(entry.reason || entry.error || "")}</td></tr>`
	);
	return `<details class="je-changes"><summary>${escape(__("All changes"))} (${history.length})</summary>
		<div class="je-scroll"><table><thead><tr><th>${escape(__("When"))}</th><th>${escape(__("State"))}</th>
		<th>${escape(__("By"))}</th><th>${escape(__("Why"))}</th></tr></thead><tbody>${rows.join("")}</tbody></table></div></details>`;
}
