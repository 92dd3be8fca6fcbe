from django.urls import path
from invoices.views import create_invoice

urlpatterns = [path("invoices/", create_invoice)]
