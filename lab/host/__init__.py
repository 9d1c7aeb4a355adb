"""The machine as the lab sees it: one seam to its files and programs, git among them."""
