"""Ways to keep a trial apart from the lab and from other trials."""
