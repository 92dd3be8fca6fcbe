// The list follows its jobs without a reload. An event has all that a row shows, so a row is drawn again from it without a
// question to the server. Only what an event cannot tell (a new job, a job that left the filter, numbers in place of names)
// needs one, and those are spaced out: a flood of events is never a flood of requests.
const { JOINED_MS, watch_all_jobs, time_of } = window.job_engine; // of job_engine.bundle.js

const DRAW_MS = 200;
const REFRESH_MS = 4000; // at least, between two refreshes
const POLL_MS = 30000; // where no event was heard for so long
const LOAD = 10; // and at least so many times as long as the last one took

export function keep_list_live(listview) {
	const live = new LiveList(listview);
	frappe.realtime.on("job_progress", (news) => live.hear(news));
	frappe.realtime.on("job_status_changed", (news) => live.hear(news));
	frappe.realtime.socket?.on("connect", () => live.refresh_soon());
	frappe.router.on("change", () => live.come_or_go());
	document.addEventListener("visibilitychange", () => live.come_or_go());
	setInterval(() => live.poll(), POLL_MS);
	listview.je_live = live;
	live.come_or_go();
}

class LiveList {
	constructor(listview) {
		this.list = listview;
		this.changed = new Set(); // names of rows to draw
		this.next_refresh = 0;
		this.is_stale = false;
		this.heard = 0;
		this.refreshes = 0;
	}

	get is_shown() {
		return !document.hidden && window.cur_list === this.list && frappe.get_route_str() === this.list.page_name;
	}

	// Nobody hears of jobs on another page: the rooms are left, and entered again on the way back.
	async come_or_go() {
		if (this.is_shown === Boolean(this.leave)) return;
		if (!this.is_shown) {
			const leave = this.leave;
			this.leave = null;
			return (await leave)();
		}
		this.leave = watch_all_jobs();
		setTimeout(() => this.refresh_soon(), JOINED_MS);
	}

	// For whoever has no connection. Where nothing was heard, a room may not have been entered: the server does not say.
	async poll() {
		const is_quiet = this.heard === this.heard_before;
		this.heard_before = this.heard;
		if (!is_quiet || !this.is_shown || !this.leave) return;
		const leave = await this.leave;
		leave();
		this.leave = watch_all_jobs();
		this.refresh_soon();
	}

	hear(news) {
		if (!this.is_shown) return;
		this.heard += 1;
		const row = news.name && this.list.data.find((doc) => doc.name === news.name);
		if (!row) return this.refresh_soon();
		if (news.at && new Date(news.at) < time_of(row.je_at || row.modified)) return; // the row is newer
		const moved = row.status !== news.status;
		for (const field of ["status", "attempts", "max_attempts", "progress", "progress_message", "run_after"])
			if (news[field] !== undefined && news[field] !== null) row[field] = news[field];
		row.je_at = news.at;
		this.draw_soon(news.name);
		if (moved && this.filters_by_status()) this.refresh_soon();
	}

	filters_by_status() {
		return this.list.filter_area.get().some((filter) => filter[1] === "status");
	}

	draw_soon(name) {
		this.changed.add(name);
		this.drawing ||= setTimeout(() => this.draw(), DRAW_MS);
	}

	// The rows stay where they are and keep their check mark and the focus.
	draw() {
		this.drawing = null;
		for (const container of this.list.$result.find(".list-row-container")) {
			const box = container.querySelector(".list-row-checkbox");
			const name = box && decodeURIComponent(box.dataset.name);
			if (!this.changed.has(name)) continue;
			const doc = this.list.data.find((each) => each.name === name);
			const made = $(this.list.get_list_row_html(doc))[0];
			const cells = container.querySelectorAll(".level-left > .list-row-col");
			made.querySelectorAll(".level-left > .list-row-col").forEach((cell, i) => {
				if (i && cells[i].innerHTML !== cell.innerHTML) cells[i].replaceWith(cell); // the first has the check box
			});
			const right = container.querySelector(".level-right");
			if (!right.contains(document.activeElement)) right.replaceWith(made.querySelector(".level-right"));
		}
		this.changed.clear();
	}

	refresh_soon() {
		this.is_stale = true;
		if (this.waiting || !this.is_shown) return;
		this.waiting = setTimeout(() => this.refresh(), Math.max(300, this.next_refresh - Date.now()));
	}

	// Frappe's own refresh drops what comes soon after another; here the next one is far enough away.
	async refresh_now() {
		this.list.last_args = null;
		try {
			await frappe.views.ListView.prototype.refresh.call(this.list);
		} catch {
			this.is_stale = true; // no connection: the next event tries again
		}
	}

	async refresh() {
		this.waiting = null;
		if (!this.is_shown || !this.is_stale) return;
		// Somebody is choosing jobs or editing a filter: the list must not move under their hands.
		if (this.list.$checks?.length || this.list.avoid_realtime_update()) {
			this.next_refresh = Date.now() + REFRESH_MS;
			return this.refresh_soon();
		}
		this.is_stale = false;
		this.refreshes += 1;
		const focused = document.activeElement?.closest?.(".list-row-container")?.querySelector("a[data-name]")?.dataset.name;
		const start = Date.now();
		await this.refresh_now();
		this.next_refresh = Date.now() + Math.max(REFRESH_MS, LOAD * (Date.now() - start));
		if (focused)
			this.list.$result.find(`a[data-name="${CSS.escape(focused)}"]`).closest(".list-row-container").trigger("focus");
	}
}
