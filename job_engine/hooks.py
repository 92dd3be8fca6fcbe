"""What Frappe is told of this app. Read at the start of every web process: it imports nothing."""

app_name = "job_engine"
app_title = "Job Engine"
app_publisher = "Job Engine contributors"
app_description = "Background jobs that are never lost, in the site's own database"
app_email = "contributors@example.com"
app_license = "MIT"

after_install = "job_engine.install.after_install"
before_uninstall = "job_engine.install.before_uninstall"
after_uninstall = "job_engine.install.after_uninstall"
after_app_install = "job_engine.install.after_app_install"
before_migrate = ["job_engine.site.upgrade.before_migrate"]
after_migrate = ["job_engine.install.after_migrate"]

# With every page of Desk: small, see the files.
app_include_js = "job_engine.bundle.js"
app_include_css = "job_engine.bundle.css"

# Every minute is the scheduler's finest step; `bench job-engine dispatch` is the same tick for sub-second schedules.
scheduler_events = {
    "cron": {"* * * * *": ["job_engine.site.scheduler.tick"]},
    "hourly_long": ["job_engine.site.scheduler.housekeeping"],
}

# Who sees what. Both kinds are needed: a list asks for conditions, a document for a yes or no.
permission_query_conditions = {
    "Background Job": "job_engine.site.permissions.job_conditions",
    "Job Execution Log": "job_engine.site.permissions.log_conditions",
    "Job Type": "job_engine.site.permissions.job_type_conditions",
    "Organization": "job_engine.site.permissions.organization_conditions",
}
has_permission = {
    "Background Job": "job_engine.site.permissions.may_see_job",
    "Job Execution Log": "job_engine.site.permissions.may_see_log",
    "Job Type": "job_engine.site.permissions.may_see_job_type",
    "Organization": "job_engine.site.permissions.may_see_organization",
}
# Frappe's own link search lets its caller ask it to ignore User Permissions; its get_count asks for no permission at all;
# its lists sort and search a whole table.
override_whitelisted_methods = {
    "frappe.desk.reportview.get": "job_engine.site.list_calls.get",
    "frappe.desk.reportview.get_list": "job_engine.site.list_calls.get_list",
    "frappe.desk.reportview.get_count": "job_engine.site.list_calls.get_count",
    "frappe.client.get_count": "job_engine.site.client_calls.get_count",
    "frappe.realtime.can_subscribe_doc": "job_engine.site.rooms.can_subscribe_doc",
}
standard_queries = {
    "Background Job": "job_engine.site.client_calls.search",
    "Job Execution Log": "job_engine.site.client_calls.search",
    "Job Type": "job_engine.site.client_calls.search",
    "Organization": "job_engine.site.client_calls.search",
}

doc_events = {
    "*": {"after_rename": "job_engine.site.renaming.after_rename"},
    "Log Settings": {"on_update": "job_engine.site.settings.forget"},
    "User Permission": {
        "on_update": "job_engine.site.tenancy.forget",
        "on_trash": "job_engine.site.tenancy.forget",
    },
}

# Days. An administrator changes them in Log Settings.
default_log_clearing_doctypes = {"Background Job": 30}

# A user or an organization can be deleted however many jobs name it; the jobs say then what they miss.
ignore_links_on_delete = ["Background Job", "Job Execution Log"]
