from django.db import models


class Invoice(models.Model):
    customer = models.EmailField()
    amount = models.DecimalField(max_digits=10, decimal_places=2)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        app_label = "invoices"
