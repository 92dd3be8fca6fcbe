frappe.provide("frappe.dashboards.chart_sources");

frappe.dashboards.chart_sources["Job Throughput"] = {
	method: "job_engine.api.desk.cards.throughput",
	filters: [],
};
