// The Job Monitor: what happened, what waits and runs, what needs a person. One call to the server for each refresh.
frappe.provide("job_engine.monitor");

{% include "job_engine/job_engine/page/job_monitor/charts.js" %}
{% include "job_engine/job_engine/page/job_monitor/panels.js" %}
{% include "job_engine/job_engine/page/job_monitor/dialogs.js" %}

frappe.pages["job-monitor"].on_page_load = (wrapper) => {
	wrapper.monitor = new job_engine.monitor.JobMonitor(wrapper);
};
frappe.pages["job-monitor"].on_page_show = (wrapper) => wrapper.monitor.show();
frappe.pages["job-monitor"].on_page_hide = (wrapper) => wrapper.monitor.hide();

job_engine.monitor.SPANS = { "1h": __("1 hour"), "24h": __("24 hours"), "7d": __("7 days") };

job_engine.monitor.JobMonitor = class {
	SOONEST = 3000; // between two refreshes that events ask for
	LATEST = 15000; // beside events: time passes, and workers come and go without a word

	constructor(wrapper) {
		this.page = frappe.ui.make_app_page({ parent: wrapper, title: __("Job Monitor"), single_column: true });
		this.span = localStorage.getItem("job_monitor_span") || "24h";
		if (!job_engine.monitor.SPANS[this.span]) this.span = "24h";
		this.make_head();
		this.body = $(`<div class="job-monitor" data-state="loading"></div>`).appendTo(this.page.main);
		this.panels = new job_engine.monitor.Panels(this);
		this.charts = new job_engine.monitor.Charts(this.body);
		this.dialogs = new job_engine.monitor.Dialogs(this);
		document.addEventListener("visibilitychange", () => this.is_shown && !document.hidden && this.refresh());
		this.on_change = () => this.refresh_soon();
	}

	make_head() {
		this.page.set_secondary_action(__("Refresh"), () => this.refresh(), "refresh");
		this.page.add_inner_button(__("Pause"), () => this.dialogs.pause());
		this.page.add_inner_button(__("Jobs"), () => frappe.set_route("List", "Background Job"));
	}

	// Shown and hidden

	async show() {
		this.is_shown = true;
		frappe.realtime.on("job_status_changed", this.on_change);
		this.timer = setInterval(() => this.refresh_if_stale(), 1000);
		this.refresh();
		this.leave = await job_engine.watch_all_jobs();
		if (!this.is_shown) this.leave();
	}

	hide() {
		this.is_shown = false;
		frappe.realtime.off("job_status_changed", this.on_change);
		clearInterval(this.timer);
		clearTimeout(this.soon);
		this.soon = null;
		this.leave?.();
	}

	// Refreshing

	refresh_soon() {
		if (this.soon || !this.is_shown || document.hidden) return;
		const wait = Math.max(0, (this.asked_at || 0) + this.SOONEST - Date.now());
		this.soon = setTimeout(() => {
			this.soon = null;
			this.refresh();
		}, wait);
	}

	refresh_if_stale() {
		if (!document.hidden && Date.now() - (this.asked_at || 0) > this.LATEST) this.refresh();
	}

	async refresh() {
		this.asked_at = Date.now();
		const asked = (this.asked = { span: this.span, organization: this.organization || "" });
		const { status, answer } = await job_engine.ask("desk.monitor.read", asked);
		if (asked !== this.asked || !this.is_shown) return; // somebody has asked for something else since
		if (answer) this.render(answer);
		else this.panels.show_trouble(status);
	}

	render(data) {
		this.data = data;
		this.panels.render(data);
		this.charts.render(data);
		this.body.attr({ "data-state": "ready", "data-span": data.span, "data-at": data.now });
	}

	choose_span(span) {
		this.span = span;
		localStorage.setItem("job_monitor_span", span);
		this.panels.mark_span(span);
		this.refresh();
	}

	choose_organization(name) {
		this.organization = name;
		this.refresh();
	}
};
