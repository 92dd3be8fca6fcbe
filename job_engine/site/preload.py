"""What a runner needs, imported once by the worker that forks it: no fork then spends its first milliseconds on imports."""

# ruff: noqa: F401

import encodings.idna  # with which PyMySQL encodes a host and a password

import frappe.database.mariadb.database
import frappe.database.utils
import frappe.defaults
import frappe.query_builder.builder
import frappe.utils.background_jobs
import frappe.utils.file_lock
import frappe.utils.logger
import frappe.utils.redis_wrapper
import pymysql
import redis.client

import job_engine.site.runner
from job_engine.store.mariadb import connection_class

connection_class()
