// The form of one job: asks the API for it, draws it, and follows it. The document itself has no parameter, result or
// traceback for Desk; the API answers with them as far as the user may see them, without secrets.
import { add_buttons } from "./actions";
import { overview_html, progress_html } from "./overview";
import { payload_html } from "./payload";
import { draw_timeline } from "./timeline";

const { call, ask, watch, status_color, time_of, ENDED, JOINED_MS } = window.job_engine; // of job_engine.bundle.js

const AGAIN_MS = 500; // between two questions, however many events come
const POLL_MS = 15000; // beside events
const FOLLOW_MS = 3000; // while it only makes progress: an event has all of it but the sentence

// On top, and live; Frappe's own fields of them below would only be a second, slower word.
const SHOWN_ON_TOP = ["job_type", "status", "progress", "progress_message"];
const TIMES = ["run_after", "started_at", "ended_at", "cancel_requested_at"];
const MOVING = [...TIMES, "status", "attempts", "max_attempts", "lost", "progress", "progress_message", "error_type", "reason",
	"blockers", "canceled_by", "priority"];

export class JobForm {
	constructor(frm) {
		this.frm = frm;
		for (const event of ["job_progress", "job_status_changed"])
			frappe.realtime.on(event, (news) => news.name === this.name && this.is_shown && this.hear(event, news));
		frappe.realtime.socket?.on("connect", () => this.is_shown && this.load_soon());
		frappe.router.on("change", () => this.watch());
		setInterval(() => this.poll(), POLL_MS);
		new ResizeObserver(() => this.draw_picture()).observe(this.wrapper("overview_html"));
	}

	get name() {
		return this.frm.docname;
	}

	get is_shown() {
		const [view, doctype, name] = frappe.get_route();
		return view === "Form" && doctype === "Background Job" && name === this.name;
	}

	wrapper(field) {
		return this.frm.fields_dict[field].$wrapper[0];
	}

	// Called at every refresh of the form, also with another job in it.
	async show() {
		this.watch();
		this.frm.toggle_display(SHOWN_ON_TOP, false);
		if (this.job && this.job.name !== this.name) this.clear();
		try {
			await this.load();
		} catch {
			this.load_soon(); // Frappe has said why; it may have been a moment's failure
		}
	}

	watch() {
		if (this.is_shown && this.watched === this.name) return;
		this.leave?.();
		this.leave = this.watched = null;
		if (!this.is_shown) return;
		this.watched = this.name;
		this.has_heard = false;
		this.leave = watch("Background Job", this.name);
		setTimeout(() => this.is_shown && !ENDED.includes(this.job?.status) && this.load_soon(), JOINED_MS);
	}

	// For whoever has no connection. Where nothing was heard, the room may not have been entered: the server does not say.
	poll() {
		if (!this.is_shown || document.hidden || !this.job || ENDED.includes(this.job.status)) return;
		if (!this.has_heard) {
			this.leave?.();
			this.leave = watch("Background Job", this.name);
		}
		this.has_heard = false;
		this.load_soon();
	}

	clear() {
		this.job = this.history = null;
		this.wrapper("overview_html").innerHTML = this.wrapper("payload_html").innerHTML = "";
	}

	async load() {
		const name = this.name;
		const [job, { history }] = await Promise.all([
			call("get_job", { name }, { type: "GET" }),
			call("get_job_history", { name }, { type: "GET" }),
		]);
		if (name === this.name) this.draw(job, history);
	}

	load_soon() {
		this.loading ||= setTimeout(() => this.load_again(), AGAIN_MS);
	}

	// Without a word where it fails: nobody has asked for it.
	async load_again() {
		const name = this.name;
		const [job, history] = await Promise.all([ask("get_job", { name }), ask("get_job_history", { name })]);
		this.loading = null;
		if (!job.answer || !history.answer || name !== this.name) return;
		this.draw(job.answer, history.answer.history);
	}

	// The fields below are Frappe's and have what was loaded with the form, which may be older or newer than what the API
	// said: the ones that move follow what is drawn.
	show_fields(job) {
		const { doc, page } = this.frm;
		const moved = MOVING.filter((field) => field in job && doc[field] !== as_field(field, job[field]));
		for (const field of moved) doc[field] = as_field(field, job[field]);
		if (moved.length) this.frm.refresh_fields();
		page.set_indicator(__(job.status), status_color(job.status));
	}

	draw(job, history) {
		Object.assign(this, { job, history });
		replace_html(this.wrapper("overview_html"), overview_html(job, history));
		replace_html(this.wrapper("payload_html"), payload_html(job));
		this.draw_picture();
		this.show_fields(job);
		add_buttons(this);
	}

	draw_picture() {
		const place = this.wrapper("overview_html").querySelector(".je-timeline");
		if (!place || !this.job || place.clientWidth === this.drawn_width) return;
		this.drawn_width = place.clientWidth;
		draw_timeline(place, this.job, this.history);
		this.drawn_width = null;
	}

	hear(event, news) {
		this.has_heard = true;
		if (event === "job_progress" && this.job?.status === "Running") {
			Object.assign(this.job, { progress: news.progress, progress_message: news.progress_message });
			const place = this.wrapper("overview_html").querySelector(".je-progress");
			if (place) {
				place.innerHTML = progress_html(this.job);
				this.draw_picture();
				this.following ||= setTimeout(() => this.follow(), FOLLOW_MS);
				return;
			}
		}
		this.load_soon();
	}

	follow() {
		this.following = null;
		if (this.is_shown && this.job?.status === "Running") this.load_soon();
	}
}

// What is unfolded stays so, and what has the focus keeps it: somebody may be reading.
function replace_html(place, html) {
	const open = [...place.querySelectorAll("details[open]")].map((each) => each.className);
	const reachable = () => [...place.querySelectorAll("a, summary")];
	const focused = reachable().indexOf(document.activeElement);
	place.innerHTML = html;
	for (const name of open) place.querySelector(`details.${name}`)?.setAttribute("open", "");
	if (focused >= 0) reachable()[focused]?.focus({ preventScroll: true });
}

// Times of the API have a zone; those of a document are in the zone of the site.
function as_field(field, value) {
	if (!TIMES.includes(field) || !value) return value;
	return moment(time_of(value)).tz(frappe.boot.time_zone?.system || moment.tz.guess()).format("YYYY-MM-DD HH:mm:ss");
}
