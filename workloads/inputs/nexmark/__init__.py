"""Input of the Nexmark queries: persons, auctions and bids of an auction house (docs/nexmark.md)."""
