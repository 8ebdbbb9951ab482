"""Standalone claims: durable rights that outlive jobs, their leases and their consumers."""
