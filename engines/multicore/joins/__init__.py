"""Family joins: hand-written band joins, which the operator O+ is compared with."""
