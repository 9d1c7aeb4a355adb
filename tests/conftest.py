"""What all tests share: a Java that starts fast.

A test's Spark lives for seconds, in which the second compiler and a parallel collector cost more
than they give: without them the same tests need 0.6 of the processor time. Answers do not change.
"""

import os

os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
