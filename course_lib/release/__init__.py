"""From solutions and chapters to what others get: exercises and the site."""
