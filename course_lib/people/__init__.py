"""People, dates and marks of a term: rosters, what they hand in, what goes back to the LMS."""
