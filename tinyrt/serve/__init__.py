"""Commands behind a page and an HTTP interface, for this machine's user alone."""
