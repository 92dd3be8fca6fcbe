"""Job Engine beside plain `frappe.enqueue`, on one bench with one worker: `make benchmark-site`."""
