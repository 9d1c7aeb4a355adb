"""Inputs of the five TPCx-BB queries: sales in stores and clicks on the web.

`store_sales` is the input of `items_sold_together` and `declining_categories`. `web_clickstreams`
is the input of `items_viewed_together`, `last_views_before_purchase` and `cart_abandonment`. The
package also has the operators that several queries share.
"""

from streamlab.workloads.inputs.retail import store_sales, web_clickstreams
from streamlab.workloads.model import OutputType

__all__ = ["STRICT", "store_sales", "web_clickstreams"]

STRICT = OutputType(kinds=("row",), depends=lambda a, b: True)
"""The type of an output that is a strict sequence: each row depends on all rows before it."""
