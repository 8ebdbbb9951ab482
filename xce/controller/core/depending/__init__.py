"""Dependencies: what a job waits for, what is known of it, and how that is written down."""
