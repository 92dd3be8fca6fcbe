// The form of a job. Nothing of it is written by hand: it shows, follows what happens, and offers what can be done.

frappe.ui.form.on("Background Job", {
	refresh(frm) {
		frm.disable_save();
		frappe.require("background_job.bundle.js", () => {
			frm.je_form ||= new job_engine.JobForm(frm);
			frm.je_form.show();
		});
	},
});
