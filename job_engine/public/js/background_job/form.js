// The form of one job: asks the API for it, draws it, and follows it. The document itself has no parameter, result or
// traceback for Desk; the API answers with them as far as the user may see them, without secrets.
import { add_buttons } from "./actions";
import { overview_html, progress_html } from "./overview";
import { payload_html } from "./payload";
import { draw_timeline } from "./timeline";

const { call, ask, watch, ENDED, JOINED_MS } = window.job_engine; // of job_engine.bundle.js

const AGAIN_MS = 500; // between two questions, however many events come

export class JobForm {
	constructor(frm) {
		this.frm = frm;
		for (const event of ["job_progress", "job_status_changed"])
			frappe.realtime.on(event, (news) => news.name === this.name && this.is_shown && this.hear(event, news));
		frappe.realtime.socket?.on("connect", () => this.is_shown && this.load_soon());
		frappe.router.on("change", () => this.watch());
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
		this.leave = watch("Background Job", this.name);
		setTimeout(() => this.is_shown && !ENDED.includes(this.job?.status) && this.load_soon(), JOINED_MS);
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
		const changed = job.answer.modified !== this.job?.modified;
		this.draw(job.answer, history.answer.history);
		if (changed && this.is_shown) this.show_fields(job.answer);
	}

	// The fields below are Frappe's and have what was loaded with the form; bring the ones that move up to date.
	show_fields(job) {
		for (const field of ["status", "attempts", "progress", "progress_message", "error_type", "reason", "lost"])
			this.frm.doc[field] = job[field];
		this.frm.refresh_fields();
		this.frm.page.set_indicator(__(job.status), job_engine.status_color(job.status));
	}

	draw(job, history) {
		Object.assign(this, { job, history });
		const wrapper = this.wrapper("overview_html");
		const is_open = wrapper.querySelector("details.je-traceback")?.open;
		wrapper.innerHTML = overview_html(job, history);
		if (is_open) wrapper.querySelector("details.je-traceback")?.setAttribute("open", "");
		this.wrapper("payload_html").innerHTML = payload_html(job);
		this.draw_picture();
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
		if (event === "job_progress" && this.job?.status === "Running") {
			Object.assign(this.job, { progress: news.progress, progress_message: news.progress_message });
			const place = this.wrapper("overview_html").querySelector(".je-progress");
			if (place) return (place.innerHTML = progress_html(this.job));
		}
		this.load_soon();
	}
}
