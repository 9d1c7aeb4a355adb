"""Runs queries of operators O+ with virtual shared-nothing (vsn) or shared-nothing (sn) instances."""
