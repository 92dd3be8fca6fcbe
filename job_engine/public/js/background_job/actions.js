// The buttons of the form: what this user may do with the job as it is now.
import { code_of } from "./code";

const { call, escape, keep_focus, pretty } = window.job_engine; // of job_engine.bundle.js

export function add_buttons(form) {
	const { frm, job } = form;
	const wanted = JSON.stringify([job.name, job.permitted, Boolean(job.cancel_requested_at)]);
	if (frm.je_buttons === wanted && frm.custom_buttons[__("Copy as Code")]) return; // a button keeps the focus it has
	frm.je_buttons = wanted;
	frm.clear_custom_buttons();
	if (job.permitted.retry) {
		frm.add_custom_button(__("Retry"), () => retry(form)).addClass("btn-primary");
	}
	if (job.permitted.retry_with_params) {
		frm.add_custom_button(__("Retry with Changed Parameters"), () => retry_changed(form));
	}
	if (job.permitted.cancel && !job.cancel_requested_at) {
		frm.add_custom_button(__("Cancel Job"), () => cancel(form));
	}
	frm.add_custom_button(__("Copy as Code"), () => frappe.utils.copy_to_clipboard(code_of(form.job)));
}

// Resolves with whether it was done. Where it was not, Frappe has said why.
async function change(form, method, args) {
	try {
		await call(method, { name: form.job.name, ...args }, { type: "POST", freeze: true });
	} catch {
		return false;
	}
	form.frm.reload_doc();
	return true;
}

function retry(form) {
	const question = escape(__("Run this job again, with all its attempts?"));
	keep_focus(frappe.confirm(question, () => change(form, "retry_job", {})));
}

function retry_changed(form) {
	const dialog = new frappe.ui.Dialog({
		title: __("Retry with Changed Parameters"),
		fields: [
			{
				fieldname: "params",
				fieldtype: "Code",
				options: "JSON",
				label: __("Parameters"),
				default: pretty(form.job.params),
				reqd: 1,
				description: __(
					"The job runs for you from then on, and its history tells what was changed. Secrets are masked: put the real value in the place of a mask."
				),
			},
		],
		primary_action_label: __("Retry"),
		async primary_action({ params }) {
			if (await change(form, "retry_job", { params })) dialog.hide();
		},
	});
	keep_focus(dialog).show();
}

function cancel(form) {
	const text =
		form.job.status === "Running"
			? __("It is asked to stop, and is killed if it does not.")
			: __("Jobs that depend on it are canceled as well.");
	const dialog = frappe.prompt(
		[
			{ fieldtype: "HTML", options: `<p>${escape(text)}</p>` },
			{ fieldname: "reason", fieldtype: "Data", label: __("Reason") },
		],
		({ reason }) => change(form, "cancel_job", { reason: reason || "" }),
		__("Cancel Job"),
		__("Cancel Job")
	);
	keep_focus(dialog);
}
