// job_engine.track(job): a toast that shows how far a job is, wherever its user goes in Desk, and ends with a link.
import { ask, escape, is_openable, job_link, progress_bar, ENDED, status_color } from "./shared";
import { JOINED_MS, watch } from "./rooms";

const POLL_SECONDS = 15; // beside realtime, for whoever has no connection
const KEPT = "job_engine_tracked"; // in the tab's session storage, so that a reload does not lose it

const tracked = new Map(); // name -> Toast
let listens = false;

// `job` is a job's name, or what submit_job answered. Returns a promise of the job's status once it has ended.
export function track(job, options = {}) {
	const name = typeof job === "string" ? job : job.name;
	if (!tracked.has(name)) tracked.set(name, new Toast(name, options.title));
	listen();
	remember();
	return tracked.get(name).ended;
}

class Toast {
	constructor(name, title) {
		this.name = name;
		this.title = title;
		this.ended = new Promise((resolve) => (this.resolve = resolve));
		this.leave = watch("Background Job", name);
		this.state = { status: "", progress: 0 };
		this.make();
		this.ask();
		setTimeout(() => this.is_over || this.ask(), JOINED_MS);
		this.poll = setInterval(() => this.ask(), POLL_SECONDS * 1000);
	}

	make() {
		this.element = document.createElement("div");
		this.element.className = "je-toast";
		this.element.dataset.job = this.name;
		this.element.innerHTML = `<div class="je-toast-head"><span class="je-toast-title"></span>
			<button type="button" class="btn-reset je-toast-close" aria-label="${escape(__("Close"))}">&times;</button></div>
			<div class="je-toast-bar"></div>
			<div class="je-toast-foot"><span class="je-toast-message" role="status"></span><span class="je-toast-link"></span></div>`;
		this.find("close").addEventListener("click", () => this.close());
		stack().append(this.element);
		this.render();
	}

	find(part) {
		return this.element.querySelector(`.je-toast-${part}`);
	}

	async ask() {
		const { status, answer } = await ask("get_job_status", { name: this.name });
		if (answer) this.update(answer);
		else if ([401, 403, 404].includes(status)) this.close(); // deleted, or no longer for this user
	}

	// `news` is an event or a status: the newest counts, whichever way it came. That it has ended is the last word.
	update(news) {
		const at = Date.parse(news.modified || news.at) || 0;
		if (this.is_over || (at < (this.at || 0) && !news.has_ended)) return;
		this.at = at;
		this.state = { ...this.state, ...news };
		this.render();
		if (!ENDED.includes(news.status)) return;
		if ("has_ended" in news) this.finish();
		else this.ask(); // an event tells nothing of the result
	}

	finish() {
		this.stop();
		this.render();
		this.resolve(this.state);
	}

	render() {
		const { status, progress, progress_message, job_type } = this.state;
		this.element.dataset.status = status;
		this.find("title").textContent = this.title || job_type || this.name;
		this.find("bar").innerHTML = progress_bar(status === "Completed" ? 100 : progress, this.title || job_type);
		this.find("bar").firstElementChild.classList.add(`je-${status_color(status)}`);
		const running = status === "Running" && progress_message;
		this.find("message").textContent = running ? progress_message : status ? __(status) : __("Loading");
		this.find("link").innerHTML = this.is_over ? this.link() : "";
	}

	link() {
		const output = this.state.output_reference;
		if (this.state.status === "Completed" && is_openable(output))
			return `<a href="${escape(encodeURI(output))}" target="_blank" rel="noopener">${escape(__("Open the result"))}</a>`;
		return job_link(this.name, this.state.status === "Completed" ? __("See the result") : __("See what happened"));
	}

	stop() {
		this.is_over = true;
		clearInterval(this.poll);
		this.leave();
		tracked.delete(this.name);
		remember();
	}

	close() {
		this.stop();
		this.element.remove();
	}
}

function stack() {
	let found = document.querySelector(".je-toasts");
	if (!found) {
		found = document.createElement("div");
		found.className = "je-toasts";
		document.body.append(found);
	}
	return found;
}

function listen() {
	if (listens || !frappe.realtime.socket) return;
	listens = true;
	for (const event of ["job_progress", "job_status_changed"])
		frappe.realtime.on(event, (news) => news.name && tracked.get(news.name)?.update(news));
	frappe.realtime.socket.on("connect", () => tracked.forEach((toast) => toast.ask()));
}

function remember() {
	const kept = [...tracked.values()].map(({ name, title }) => ({ name, title }));
	if (kept.length) sessionStorage.setItem(KEPT, JSON.stringify(kept));
	else sessionStorage.removeItem(KEPT);
}

$(document).on("app_ready", () => {
	try {
		JSON.parse(sessionStorage.getItem(KEPT) || "[]").forEach(({ name, title }) => track(name, { title }));
	} catch {
		sessionStorage.removeItem(KEPT);
	}
});
