from decimal import Decimal, InvalidOperation

from django.core.exceptions import ValidationError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_POST

from invoices.billing import bill


@require_POST
def create_invoice(request: HttpRequest) -> JsonResponse:
    try:
        invoice, job = bill(request.POST.get("customer", ""), Decimal(request.POST.get("amount", "")))
    except InvalidOperation:
        return JsonResponse({"error": "amount: enter a number such as 42.00"}, status=400)
    except ValidationError as error:
        return JsonResponse({"error": error.message_dict}, status=400)
    return JsonResponse({"invoice": invoice.pk, "job": job.name}, status=202)
