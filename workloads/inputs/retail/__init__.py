"""Retail: sales in stores and clicks on the web, the input of the five TPCx-BB queries.

`store_sales` serves `items_sold_together` and `declining_categories`; `web_clickstreams` serves
`items_viewed_together`, `last_views_before_purchase` and `cart_abandonment`. What these share is
here: the records, their generators, and the operators and reading that more than one needs.
"""

from streamlab.workloads.inputs.retail import store_sales, web_clickstreams
from streamlab.workloads.inputs.retail.declaration import STRICT

__all__ = ["STRICT", "store_sales", "web_clickstreams"]
