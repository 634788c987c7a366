"""The documentation's site: what MkDocs calls, the pages that are generated, links between them."""
