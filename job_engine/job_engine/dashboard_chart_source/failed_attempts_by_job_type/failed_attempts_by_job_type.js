frappe.provide("frappe.dashboards.chart_sources");

frappe.dashboards.chart_sources["Failed Attempts by Job Type"] = {
	method: "job_engine.api.desk.cards.failures_by_type",
	filters: [],
};
