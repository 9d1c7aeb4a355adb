"""Family layers: query graphs, with order made by channels, by operators, or nowhere."""
