// How Desk shows jobs: one colour for a state, one way to write a duration, a moment, a text that somebody else wrote.

// Gray waits or was stopped on purpose, blue is due, purple runs, green is done, orange is tried again by itself, red needs
// a person. The doctype's `states` have the same colours.
export const STATUS_COLORS = {
	Pending: "gray",
	Queued: "blue",
	Running: "purple",
	Completed: "green",
	Failed: "orange",
	"Timed Out": "orange",
	"Dead Letter": "red",
	Canceled: "gray",
};
export const WAITING = ["Pending", "Queued", "Failed", "Timed Out"];
export const ENDED = ["Completed", "Dead Letter", "Canceled"];

const UNITS = [
	[86400, (n) => __("{0} d", [n])],
	[3600, (n) => __("{0} h", [n])],
	[60, (n) => __("{0} min", [n])],
	[1, (n) => __("{0} s", [n])],
];

// Whatever a handler or a user wrote goes through this before it is put into HTML.
export function escape(text) {
	return frappe.utils.escape_html(text === null || text === undefined ? "" : String(text)).replace(/`/g, "&#96;");
}

export function status_color(status) {
	return STATUS_COLORS[status] || "gray";
}

export function status_pill(status) {
	return `<span class="indicator-pill ${status_color(status)} je-status" data-status="${escape(status)}">${escape(
		__(status)
	)}</span>`;
}

// A bar from 0 to 100 that a screen reader can read. `label` is what the bar is about.
export function progress_bar(percent, label = __("Progress")) {
	const value = Math.max(0, Math.min(100, Math.round(Number(percent) || 0)));
	return `<span class="je-bar" role="progressbar" aria-label="${escape(label)}" aria-valuemin="0" aria-valuemax="100"
		aria-valuenow="${value}" title="${value} %"><span style="width: ${value}%"></span></span>`;
}

// As whoever looks writes numbers.
export function number(value, digits = 0) {
	return Number(value || 0).toLocaleString(frappe.boot.lang, { maximumFractionDigits: digits });
}

// "350 ms", "4.2 s", "3 min 20 s", "2 h", "5 d"
export function duration(seconds, parts = 2) {
	const s = Math.abs(Number(seconds) || 0);
	if (s < 0.9995) return __("{0} ms", [Math.round(s * 1000)]);
	if (s < 9.95) return __("{0} s", [number(s, 1)]);
	let rest = Math.round(s);
	const words = [];
	for (const [size, said] of UNITS) {
		const n = Math.floor(rest / size);
		if (n || (words.length && size > 1)) words.push(n ? said(n) : "");
		rest -= n * size;
		if (words.length === parts) break;
	}
	return words.filter(Boolean).join(" ");
}

// A moment as a Date: the API's have a zone, a document's are in the zone of the site.
export function time_of(value) {
	if (!value) return null;
	if (value instanceof Date) return value;
	const has_zone = /(Z|[+-]\d\d:?\d\d)$/.test(value);
	const site = frappe.boot.time_zone?.system || moment.tz.guess();
	return has_zone ? new Date(value) : moment.tz(value, site).toDate();
}

// "in 4 min", "now", "2 h ago"
export function relative(value) {
	const at = time_of(value);
	if (!at) return "";
	const seconds = (at - Date.now()) / 1000;
	if (Math.abs(seconds) < 1) return __("now");
	const text = duration(Math.max(1, Math.round(Math.abs(seconds))), 1);
	return seconds > 0 ? __("in {0}", [text]) : __("{0} ago", [text]);
}

// Date and time in the zone and the format of whoever looks.
export function full_time(value) {
	const at = time_of(value);
	if (!at) return "";
	const zone = frappe.boot.time_zone?.user || frappe.boot.time_zone?.system || moment.tz.guess();
	return frappe.datetime.str_to_user(moment(at).tz(zone).format("YYYY-MM-DD HH:mm:ss")) || "";
}

// A moment as relative time, which is kept right while it is shown; the full one is in its title. As "age" it has no "ago",
// and what is "due" is due from then on.
export function time_html(value, as = "") {
	const at = time_of(value);
	if (!at) return "";
	return `<time class="je-time" datetime="${at.toISOString()}" title="${escape(full_time(at))}"
		data-as="${as}">${escape(_text_of(at, as))}</time>`;
}

function _text_of(at, as) {
	if (as === "age") return duration(Math.max(1, Math.round((Date.now() - at) / 1000)), 1);
	return as === "due" && at <= Date.now() ? __("now") : relative(at);
}

const TICK = 5000;
setInterval(() => {
	for (const el of document.querySelectorAll("time.je-time")) {
		const text = _text_of(new Date(el.dateTime), el.dataset.as);
		if (el.textContent !== text) el.textContent = text;
	}
}, TICK);

export function job_link(name, text) {
	return `<a href="/app/background-job/${encodeURIComponent(name)}">${escape(text || name)}</a>`;
}

// Whether a result names something to open. A handler has written it: a file of this site or a web address, nothing else.
export function is_openable(reference) {
	return /^(\/(private\/)?files\/|https?:\/\/)/.test(reference || "");
}

// JSON as people read it.
export function pretty(value) {
	return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

export function is_manager() {
	return ["Job Manager", "System Manager"].some((role) => frappe.user_roles.includes(role));
}

// A method of the API: job_engine.api.<method>. Resolves with its answer; where it fails, Frappe shows why.
export function call(method, args = {}, options = {}) {
	return frappe.call({ method: `job_engine.api.${method}`, args, ...options }).then((r) => r.message);
}

// The same without a word to the user, for what asks by itself. Resolves with the answer, or null, and the HTTP status.
export async function ask(method, args = {}) {
	try {
		const response = await fetch(`/api/method/job_engine.api.${method}?${new URLSearchParams(args)}`, {
			headers: { Accept: "application/json", "X-Frappe-CSRF-Token": frappe.csrf_token },
		});
		return { status: response.status, answer: response.ok ? (await response.json()).message : null };
	} catch {
		return { status: 0, answer: null }; // no connection
	}
}
