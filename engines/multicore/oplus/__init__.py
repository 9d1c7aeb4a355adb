"""Family oplus: queries of operators O+, virtual shared-nothing (vsn) or shared-nothing (sn)."""
